//go:build !unix

package tcp

import (
	"errors"
	"net"
)

// direct is a plain socket that is read and written without waiting; this system's
// are left to package net.
type direct struct{}

// naps are never taken: there is no direct connection that would be behind.
const naps = 0

type sleeper struct{}

func (*sleeper) nap([]*outgoing) {}

func newDirect(net.Conn, *backlog) (*direct, error) { return nil, nil }

func (*direct) read([]byte, int) (int, error)          { return 0, errors.ErrUnsupported }
func (*direct) write(_, _ []byte, _ bool) (int, error) { return 0, errors.ErrUnsupported }

// drain is left to the system.
func drain(net.Conn) {}
