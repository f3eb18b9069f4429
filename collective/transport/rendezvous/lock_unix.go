//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// openOwn opens the meeting's file, which is made if need be. It is this user's, nobody else may read or write it, and it is no
// link: whoever puts another file in its place would be told where the ranks are, and tell them where to go.
func openOwn(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) {
		return nil, fmt.Errorf("%s is a link: name the file itself", path)
	}
	if err != nil {
		return nil, err
	}
	if err := checkOwn(file); err != nil {
		return nil, errors.Join(fmt.Errorf("%s %w", path, err), file.Close())
	}
	return file, nil
}

func checkOwn(file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	of, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return fmt.Errorf("is no plain file: %v", info.Mode())
	case known && int(of.Uid) != os.Geteuid():
		return fmt.Errorf("is another user's, %d; this is %d", of.Uid, os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("is open to other users, its mode is %04o: 0600 is safe (chmod 600)", info.Mode().Perm())
	}
	return nil
}

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
