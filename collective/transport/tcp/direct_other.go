//go:build !unix

package tcp

import (
	"errors"
	"net"
)

// direct is a plain socket that is read and written without waiting; this system's
// are left to package net.
type direct struct{}

func newDirect(net.Conn) (*direct, error) { return nil, nil }

func (*direct) read([]byte, int) (int, error)          { return 0, errors.ErrUnsupported }
func (*direct) write(_, _ []byte, _ bool) (int, error) { return 0, errors.ErrUnsupported }

// drain is left to the system.
func drain(net.Conn) {}
