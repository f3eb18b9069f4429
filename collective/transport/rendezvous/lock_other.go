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
