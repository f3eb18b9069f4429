package columns

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// job is a call that has its arguments: R is what it gives, a list of columns or a list of
// lists.
type job[R result] struct {
	call string
	err  error            // wrong arguments: nothing is sent
	held []*memory.Column // kept until it is done
	run  func(ctx context.Context) (R, error)
}

type result interface {
	[]*memory.Column | [][]*memory.Column
}

// do runs a job in its turn.
func do[R result](ctx context.Context, t *Comm, j job[R]) (got R, err error) {
	if j.err != nil {
		return nil, j.err
	}
	turn, err := t.queue.Take(j.call)
	if err != nil {
		return nil, err
	}
	defer turn.Done()
	if err := turn.Wait(ctx); err != nil {
		return nil, err
	}
	err = turn.Run(ctx, j.call, func(ctx context.Context) (err error) {
		got, err = j.run(ctx)
		return err
	})
	return got, err
}

// Handle is a call that was started, and what it gives: []*memory.Column or, by rank,
// [][]*memory.Column.
type Handle[R result] struct {
	done chan struct{}
	got  R
	err  error
}

// start starts a job; its place among the Comm's calls is that of the call.
func start[R result](ctx context.Context, t *Comm, j job[R]) *Handle[R] {
	h := &Handle[R]{done: make(chan struct{}), err: j.err}
	if h.err != nil {
		close(h.done)
		return h
	}
	turn, err := t.queue.Take(j.call)
	if err != nil {
		h.err = err
		close(h.done)
		return h
	}
	for _, c := range j.held {
		c.Retain()
	}
	go func() {
		defer close(h.done)
		defer Release(j.held)
		defer turn.Done()
		if h.err = turn.Wait(ctx); h.err != nil {
			return
		}
		h.err = turn.Run(ctx, j.call, func(ctx context.Context) (err error) {
			h.got, err = j.run(ctx)
			return err
		})
	}()
	return h
}

// Wait returns what the call gives when it is done, or its error, or an ErrCanceled when
// ctx ends: the call then goes on under the context that it was started with. The columns
// are the caller's to release, once, however often it waits; who does not want them calls
// Discard instead.
func (h *Handle[R]) Wait(ctx context.Context) (R, error) {
	select {
	case <-h.done:
		return h.got, h.err
	default:
	}
	select {
	case <-h.done:
		return h.got, h.err
	case <-ctx.Done():
		return nil, device.Canceled(ctx, "", "wait for a collective operation")
	}
}

// Done is closed when the call is done.
func (h *Handle[R]) Done() <-chan struct{} { return h.done }

// Discard releases what the call gives when it is done, and waits for that.
func (h *Handle[R]) Discard() {
	<-h.done
	switch got := any(h.got).(type) {
	case []*memory.Column:
		Release(got)
	case [][]*memory.Column:
		for _, list := range got {
			Release(list)
		}
	}
	h.got = nil
}
