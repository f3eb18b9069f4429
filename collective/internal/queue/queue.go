// Package queue puts operations that are several of a collective.Comm's own into an order:
// those of ondevice and of columns.
package queue

import (
	"context"
	"errors"
	"sync"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
)

// Queue lets operations over a Comm run one after another, in the order in which they took
// their turns.
type Queue struct {
	comm *collective.Comm
	what string // is closed, in errors

	mu     sync.Mutex
	latest chan struct{} // closed when the latest of them is done; nil before the first
	closed bool
}

// New makes one over a Comm, which stays the caller's, for what errors call so.
func New(comm *collective.Comm, what string) *Queue { return &Queue{comm: comm, what: what} }

// Turn is a place in a Queue. Done has to be called.
type Turn struct {
	q      *Queue
	before chan struct{} // closed when the turn has come; nil where nobody was before
	own    chan struct{}
}

// Take is the next place, or an ErrClosed.
func (q *Queue) Take(call string) (*Turn, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, q.errClosed(call, nil)
	}
	t := &Turn{q, q.latest, make(chan struct{})}
	q.latest = t.own
	return t, nil
}

// errClosed is what operations of a closed Queue end with.
func (q *Queue) errClosed(call string, cause error) error {
	return &device.Error{Call: call, Kind: device.ErrClosed, Text: q.what + " is closed", Cause: cause}
}

// Done gives the turn to the next.
func (t *Turn) Done() { close(t.own) }

// Wait waits for the turn. When ctx ends first, that ends the operation that has the turn,
// as it does on the host: the ranks could not agree any more on which of them were done.
func (t *Turn) Wait(ctx context.Context) error {
	if t.before == nil {
		return nil
	}
	select {
	case <-t.before:
		return nil
	default:
	}
	select {
	case <-t.before:
		return nil
	case <-ctx.Done():
		err := t.q.canceled(ctx)
		<-t.before
		return err
	}
}

// Run runs an operation, or part of one, in the turn, unless the Queue is closed, the Comm
// has a Fault or ctx has ended.
func (t *Turn) Run(ctx context.Context, call string, f func(ctx context.Context) error) error {
	switch {
	case t.q.leaving():
		return t.q.errClosed(call, nil)
	case t.q.comm.Fault() != nil:
		return t.q.comm.Fault()
	case ctx.Err() != nil:
		return t.q.canceled(ctx)
	}
	err := f(ctx)
	if err != nil && t.q.leaving() { // the Fault is the others' to see
		return t.q.errClosed(call, err)
	}
	return err
}

// canceled tells all ranks that this one's context has ended, and gives the Fault with the
// context's own error beside it.
func (q *Queue) canceled(ctx context.Context) error {
	own := q.comm.Rank()
	err := q.comm.Report(collective.Fault{Cause: collective.Canceled, Ranks: []int{own}, Text: context.Cause(ctx).Error()})
	var f *collective.Fault
	if errors.As(err, &f) && (f.Cause != collective.Canceled || f.By != own) {
		return err // another rank's, which was first
	}
	return &device.Error{Call: "collective", Kind: device.ErrCanceled, Text: err.Error(), Cause: errors.Join(err, context.Cause(ctx))}
}

func (q *Queue) leaving() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// Close lets no more operations in, ends those that are not done by a Fault of the Comm,
// and waits for them. Only the first call says first.
func (q *Queue) Close() (first bool) {
	q.mu.Lock()
	first, latest := !q.closed, q.latest
	q.closed = true
	q.mu.Unlock()
	if latest == nil {
		return first
	}
	select {
	case <-latest:
	default:
		_ = q.comm.Report(collective.Fault{Cause: collective.Left, Ranks: []int{q.comm.Rank()}, Text: "it has closed " + q.what + " with operations under way"})
		<-latest
	}
	return first
}
