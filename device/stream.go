package device

import (
	"context"
	"time"

	"github.com/volley-go/volley/memory"
)

// Stream is an ordered queue of work on one device. Its methods may be called
// from any goroutine; the order of work is that of the calls.
//
// Bad arguments are refused by the call itself (ErrMismatch, ErrClosed) and do
// the stream no harm. Failures of the work are sticky: what was given after is
// not run, except that buffers are released and events reached all the same.
type Stream interface {
	// Device is the device the stream belongs to.
	Device() Device
	// Copy copies n bytes between two buffers, each in host memory or in that of
	// any device of the same driver: host to device, device to host, device to
	// device. The buffers are kept alive until it is done; host memory that is
	// not pinned may make the call itself wait. A range outside of a buffer is
	// an ErrMismatch.
	Copy(dst *memory.Buffer, dstOffset int64, src *memory.Buffer, srcOffset, n int64) error
	// Fill sets n bytes from offset to value.
	Fill(dst *memory.Buffer, offset, n int64, value byte) error
	// Launch runs a function of a module of the same device over a grid. Buffers,
	// Bases and columns among args are kept alive until it is done. A GPU takes
	// buffers, Bases, and numbers of the Go types of 8 to 64 bits, which must be
	// those of the kernel's parameters in order.
	Launch(f Function, grid Grid, args ...any) error
	// Call runs f on the host in the order of the stream. f must not call
	// methods of the stream. An error, or a panic, of f becomes the stream's.
	Call(name string, f func() error) error
	// Record marks the point reached so far in e. Recording e again moves the
	// mark; whoever waits already goes on waiting for the earlier one.
	Record(e Event) error
	// WaitEvent makes later work of this stream wait for the point that e marks
	// at the time of the call, which may be of another stream of the same driver.
	// When that stream had failed there, this one fails too.
	WaitEvent(e Event) error
	// Free drops the caller's reference to b when all work given so far is done,
	// also where it returns the failure of the stream or ErrClosed.
	Free(b *memory.Buffer) error
	// Wait waits until all work given so far is done and returns the stream's
	// first failure. When ctx ends first it returns ErrCanceled; the work goes on.
	Wait(ctx context.Context) error
	// Close waits for the stream's work, ends it and returns its failure, if
	// any. Closing twice is allowed.
	Close() error
}

// Event is a point in the work of a stream.
type Event interface {
	// Done reports whether the point was reached; the error is the failure that
	// the stream had there. For an event that was never recorded it is true.
	Done() (bool, error)
	// Wait waits until the point is reached and returns the failure that the
	// stream had there, or until ctx ends (ErrCanceled).
	Wait(ctx context.Context) error
	// Since is the time on the device from the point of start to this one. Both
	// must have been reached, else the error is an ErrMismatch.
	Since(start Event) (time.Duration, error)
	// Close gives the event back. Closing twice is allowed.
	Close() error
}
