//go:build !linux

package shm

import (
	"context"
	"errors"
	"runtime"

	"github.com/volley-go/volley/collective/transport"
)

// Join is an error here: this transport is for Linux.
func Join(context.Context, string, int, int) (transport.Endpoint, error) {
	return nil, errors.New("shm: shared memory between ranks is not there on " + runtime.GOOS)
}

// Reach is empty: no process can Join another.
func Reach() string { return "" }
