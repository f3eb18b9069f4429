package collective

import (
	"context"
	"sync"
	"time"

	"github.com/volley-go/volley/device"
)

// FuserOptions are a Fuser's settings; all ranks give the same.
type FuserOptions struct {
	// Bytes starts an operation as soon as so many bytes are there; a vector as long as
	// that is reduced alone. 0 is 256 KiB.
	Bytes int64
	// Delay starts one when the first vector has waited so long; 0 is a millisecond.
	Delay time.Duration
}

// Fuser makes one operation of many small AllReduces, which are given one by one. All
// ranks give the same ones in the same order, as fast as they like: before each start
// the ranks agree on how many all of them have given. What the vectors side by side
// need, memory and schedule, is kept for the next time.
type Fuser struct {
	c      *Comm
	o      FuserOptions
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}
	wake   chan struct{}

	mu     sync.Mutex
	queue  []*waiting
	bytes  int64
	first  time.Time // when the queue's first came
	hurry  bool      // somebody waits for all
	closed bool
	err    error
}

// waiting is an AllReduce that has not started.
type waiting struct {
	pair
	reduce Op
	handle *Handle
}

// NewFuser makes one, with a communicator of its own: all ranks call it. Operations
// end when ctx does.
func NewFuser(ctx context.Context, c *Comm, o FuserOptions) (*Fuser, error) {
	own, err := c.twin(ctx, "fuser", c.options)
	if err != nil {
		return nil, err
	}
	if o.Bytes <= 0 {
		o.Bytes = fuseBytes
	}
	if o.Delay <= 0 {
		o.Delay = time.Millisecond
	}
	f := &Fuser{c: own, o: o, ended: make(chan struct{}), wake: make(chan struct{}, 1)}
	f.ctx, f.cancel = context.WithCancel(ctx)
	go f.run()
	return f, nil
}

// twin is a Comm of the same ranks.
func (c *Comm) twin(ctx context.Context, kind string, o Options) (*Comm, error) {
	if err := c.ready(kind); err != nil {
		return nil, err
	}
	ranks := make([]int, c.Size())
	for r := range ranks {
		ranks[r] = r
	}
	return c.group(ctx, kind, ranks, o)
}

// AllReduceAsync gives a vector to be reduced; it may be the same memory as out.
func (f *Fuser) AllReduceAsync(in, out Vector, op Op) *Handle {
	h := &Handle{done: make(chan struct{})}
	_, err := f.c.allReduce(in, out, op)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && f.closed {
		err = &device.Error{Call: "AllReduce", Kind: device.ErrClosed, Cause: errClosed}
	}
	if err == nil {
		err = f.err
	}
	if err != nil {
		h.err = err
		close(h.done)
		return h
	}
	if len(f.queue) == 0 {
		f.first = time.Now()
	}
	f.queue = append(f.queue, &waiting{pair{in, out}, op, h})
	f.bytes += int64(len(in.bytes))
	f.ring()
	return h
}

// Wait returns when everything given so far is reduced. It does not wait for the
// Delay.
func (f *Fuser) Wait(ctx context.Context) error {
	f.mu.Lock()
	if len(f.queue) == 0 {
		defer f.mu.Unlock()
		return f.err
	}
	last := f.queue[len(f.queue)-1].handle
	f.hurry = true
	f.ring()
	f.mu.Unlock()
	return last.Wait(ctx)
}

// Fault is what ended the work of the Fuser's own communicator, or nil.
func (f *Fuser) Fault() *Fault { return f.c.Fault() }

// Close waits for what was given, on all ranks, and ends the Fuser. Who cannot wait
// ends its context first.
func (f *Fuser) Close() error {
	f.mu.Lock()
	f.closed, f.hurry = true, true
	f.ring()
	f.mu.Unlock()
	<-f.ended
	f.cancel()
	err := f.c.Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	return err
}

// ring wakes the goroutine; the caller holds mu.
func (f *Fuser) ring() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

func (f *Fuser) run() {
	defer close(f.ended)
	err := error(errEnded) // should a reduction end the goroutine
	defer func() {
		if err != nil {
			f.fail(err)
		}
	}()
	for f.due() {
		if err = f.start(); err != nil {
			return
		}
		err = errEnded
	}
	err = nil
}

// due waits until it is time to start; it is false when nothing will come any more.
func (f *Fuser) due() bool {
	for {
		f.mu.Lock()
		n, left := len(f.queue), time.Until(f.first.Add(f.o.Delay))
		now := n > 0 && (f.hurry || f.bytes >= f.o.Bytes || left <= 0)
		end := n == 0 && f.closed
		f.mu.Unlock()
		if now || end {
			return now
		}
		var late <-chan time.Time
		if n > 0 {
			late = time.After(left)
		}
		select {
		case <-f.wake:
		case <-late:
		case <-f.ctx.Done():
			f.fail(device.Canceled(f.ctx, "", "fused AllReduce"))
			return false
		}
	}
}

// start agrees on how many vectors all ranks have, and reduces them.
func (f *Fuser) start() error {
	f.mu.Lock()
	count := []int64{int64(len(f.queue))}
	f.mu.Unlock()
	if err := f.c.AllReduce(f.ctx, Of(count), Of(count), Min); err != nil {
		return err
	}
	f.mu.Lock()
	batch := f.queue[:count[0]:count[0]]
	f.queue = append([]*waiting(nil), f.queue[count[0]:]...)
	for _, w := range batch {
		f.bytes -= int64(len(w.in.bytes))
	}
	f.hurry = f.hurry && (len(f.queue) > 0 || f.closed)
	f.mu.Unlock()
	for len(batch) > 0 {
		n := 1
		works := join(nil, batch[0].pair, batch[0].reduce, f.o.Bytes)
		for n < len(batch) && works[0].(*fusion).takes(batch[n].pair, batch[n].reduce, f.o.Bytes) {
			works = join(works, batch[n].pair, batch[n].reduce, f.o.Bytes)
			n++
		}
		if err := f.reduce(works[0], batch[:n], batch[n:]); err != nil {
			return err
		}
		batch = batch[n:]
	}
	return nil
}

// reduce does the AllReduces of some that waited, and puts those after them back where
// there is an error.
func (f *Fuser) reduce(w work, these, rest []*waiting) (err error) {
	err = errEnded // should a reduction end the goroutine
	defer func() {
		for _, w := range these {
			w.handle.err = err
			close(w.handle.done)
		}
		if err != nil {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.queue = append(rest, f.queue...)
		}
	}()
	err = f.c.turn(f.ctx, f.c.turns.take(), w)
	return err
}

// fail ends everything that waits and all that comes.
func (f *Fuser) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	for _, w := range f.queue {
		w.handle.err = err
		close(w.handle.done)
	}
	f.queue, f.bytes = nil, 0
}
