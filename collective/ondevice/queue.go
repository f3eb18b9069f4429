package ondevice

import (
	"context"
	"errors"
	"sync"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/device"
)

// operation is a call whose arguments were found good.
type operation struct {
	call    string
	vectors []Vector // whose buffers are kept until it is done
	run     func(ctx context.Context) error
}

// queue lets operations run one after another, in the order in which they were started:
// they share the stream, the pinned memory and the Comm's messages.
type queue struct {
	mu     sync.Mutex
	latest chan struct{} // closed when the latest of them is done; nil before the first
	closed bool
}

// errClosed is what operations of a closed Comm return.
func errClosed(call string) error {
	return device.Errorf(device.ErrClosed, "", call, "the device's Comm is closed")
}

// take is a place in the queue: before is closed when its turn has come, own is for the
// caller to close.
func (q *queue) take(call string) (before, own chan struct{}, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, nil, errClosed(call)
	}
	before, own = q.latest, make(chan struct{})
	q.latest = own
	return before, own, nil
}

// do runs an operation in its turn, or returns what was wrong with it.
func (d *Comm) do(ctx context.Context, o operation, err error) error {
	if err != nil {
		return err
	}
	before, own, err := d.queue.take(o.call)
	if err != nil {
		return err
	}
	return d.turn(ctx, before, own, []operation{o})
}

// turn runs operations one after another when those before are done. The end of ctx while
// they wait ends the operation that has the turn, as it does on the host: the ranks could
// not agree any more on which of them were done.
func (d *Comm) turn(ctx context.Context, before, own chan struct{}, operations []operation) (err error) {
	defer close(own)
	if before != nil {
		select {
		case <-before:
		case <-ctx.Done():
			err = d.canceled(ctx)
			<-before
		}
	}
	for i := 0; i < len(operations) && err == nil; i++ {
		switch o := &operations[i]; {
		case d.leaving():
			err = errClosed(o.call)
		case d.c.Fault() != nil:
			err = d.c.Fault()
		case ctx.Err() != nil:
			err = d.canceled(ctx)
		default:
			err = o.run(ctx)
			// Who closes the Comm gets that, and not the Fault that it is for the others.
			if err != nil && d.leaving() {
				err = &device.Error{Call: o.call, Kind: device.ErrClosed, Cause: err}
			}
		}
	}
	return err
}

// canceled tells all ranks that this one's context has ended, and gives the Fault with the
// context's own error beside it.
func (d *Comm) canceled(ctx context.Context) error {
	err := d.c.Report(collective.Fault{Cause: collective.Canceled, Ranks: []int{d.c.Rank()}, Text: context.Cause(ctx).Error()})
	var f *collective.Fault
	if errors.As(err, &f) && (f.Cause != collective.Canceled || f.By != d.c.Rank()) {
		return err // another rank's, which was first
	}
	return &device.Error{Call: "collective", Kind: device.ErrCanceled, Text: err.Error(), Cause: errors.Join(err, context.Cause(ctx))}
}

func (d *Comm) leaving() bool {
	d.queue.mu.Lock()
	defer d.queue.mu.Unlock()
	return d.queue.closed
}

// leave lets no more operations in, ends those that were started and waits for them.
func (d *Comm) leave() (first bool) {
	d.queue.mu.Lock()
	first, latest := !d.queue.closed, d.queue.latest
	d.queue.closed = true
	d.queue.mu.Unlock()
	if latest == nil {
		return first
	}
	select {
	case <-latest:
	default:
		// The Fault is the others' to see; here the operations end with ErrClosed.
		_ = d.c.Report(collective.Fault{Cause: collective.Left, Ranks: []int{d.c.Rank()}, Text: "it has closed its device's Comm with operations under way"})
		<-latest
	}
	return first
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
	before, own, err := d.queue.take(operations[0].call)
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
		h.err = d.turn(ctx, before, own, operations)
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
