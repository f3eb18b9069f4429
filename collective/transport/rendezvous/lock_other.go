//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"os"
)

func lock(context.Context, *os.File) error {
	return fmt.Errorf("%w: a meeting at file:// needs flock, which this system has not got: use tcp://", errors.ErrUnsupported)
}

// openOwn opens the meeting's file, which is made if need be.
func openOwn(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) }
