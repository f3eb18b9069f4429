package tcp

import (
	"errors"
	"fmt"
)

// errClosed is what calls on an endpoint return after Close.
var errClosed = errors.New("the endpoint is closed")

// errWaiting refuses a note.
var errWaiting = fmt.Errorf("%d bytes of notes wait for a rank that does not read them", maxWaiting)

// Lost is what a call returns that needs a rank whose connection has ended.
type Lost struct {
	Rank int
	Err  error // transport.ErrLeft, or how the connection ended
}

// Error names the rank.
func (l *Lost) Error() string { return fmt.Sprintf("rank %d is lost: %v", l.Rank, l.Err) }

// Unwrap is how.
func (l *Lost) Unwrap() error { return l.Err }
