//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package rendezvous

import (
	"context"
	"os"
	"syscall"
	"time"
)

// lock waits for the lock of a file, which ends with the file or its process.
func lock(ctx context.Context, file *os.File) error {
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(time.Millisecond):
		}
	}
}
