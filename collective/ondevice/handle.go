package ondevice

import (
	"context"

	"github.com/volley-go/volley/collective/internal/queue"
	"github.com/volley-go/volley/device"
)

// operation is a call whose arguments were found good.
type operation struct {
	call    string
	vectors []Vector // whose buffers are kept until it is done
	run     func(ctx context.Context) error
}

// do runs an operation in its turn, or returns what was wrong with it.
func (d *Comm) do(ctx context.Context, o operation, err error) error {
	if err != nil {
		return err
	}
	turn, err := d.queue.Take(o.call)
	if err != nil {
		return err
	}
	return inTurn(ctx, turn, []operation{o})
}

// inTurn runs operations one after another when those before them are done.
func inTurn(ctx context.Context, turn *queue.Turn, operations []operation) error {
	defer turn.Done()
	err := turn.Wait(ctx)
	for i := 0; i < len(operations) && err == nil; i++ {
		err = turn.Run(ctx, operations[i].call, operations[i].run)
	}
	return err
}

// Handle is an operation that was started, or a Group of them.
type Handle struct {
	done chan struct{}
	err  error
}

// begin starts operations; their place among the Comm's is that of the call. The buffers
// of their vectors are kept until the last is done.
func (d *Comm) begin(ctx context.Context, operations []operation, err error) *Handle {
	h := &Handle{done: make(chan struct{}), err: err}
	if err != nil || len(operations) == 0 {
		close(h.done)
		return h
	}
	turn, err := d.queue.Take(operations[0].call)
	if err != nil {
		h.err = err
		close(h.done)
		return h
	}
	for _, o := range operations {
		for _, v := range o.vectors {
			v.Buffer.Retain()
		}
	}
	go func() {
		defer close(h.done)
		h.err = inTurn(ctx, turn, operations)
		for _, o := range operations {
			for _, v := range o.vectors {
				v.Buffer.Release()
			}
		}
	}()
	return h
}

// start is begin of one.
func (d *Comm) start(ctx context.Context, o operation, err error) *Handle {
	return d.begin(ctx, []operation{o}, err)
}

// Wait returns when the operation is done, with its error, or when ctx ends, with an
// ErrCanceled: the operation then goes on under the context that it was started with, and
// its vectors still belong to it.
func (h *Handle) Wait(ctx context.Context) error {
	select {
	case <-h.done:
		return h.err
	default:
	}
	select {
	case <-h.done:
		return h.err
	case <-ctx.Done():
		return device.Canceled(ctx, "", "wait for a collective operation")
	}
}

// Done is closed when the operation is done.
func (h *Handle) Done() <-chan struct{} { return h.done }
