package host

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// op is one piece of work in a stream's queue.
type op struct {
	call  string
	run   func() error // skipped once the stream has failed; may be nil
	after func()       // always runs, after run: gives back what the op held
}

// stream runs ops in order on a goroutine that lives while there are any.
type stream struct {
	device  *Device
	pending atomic.Int64 // ops given and not yet done
	failed  atomic.Pointer[device.Error]
	closed  atomic.Bool

	mu      sync.Mutex
	queue   []op
	head    int // the next op of queue
	running bool
	idle    sync.Cond // running became false
}

// NewStream makes a stream of the device.
func (d *Device) NewStream() (device.Stream, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.alive("new stream"); err != nil {
		return nil, err
	}
	s := &stream{device: d}
	s.idle.L = &s.mu
	d.streams[s] = struct{}{}
	return s, nil
}

func (s *stream) Device() device.Device { return s.device }

// failure is the sticky error, or nil.
func (s *stream) failure() error {
	if e := s.failed.Load(); e != nil {
		return e
	}
	return nil
}

// enqueue puts o into the queue. When it cannot, o.after is not run.
func (s *stream) enqueue(o op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return device.Errorf(device.ErrClosed, name, o.call, "the stream is closed")
	}
	if o.run != nil {
		if err := s.failure(); err != nil {
			return err
		}
	}
	s.pending.Add(1)
	s.queue = append(s.queue, o)
	if !s.running {
		s.running = true
		go s.work()
	}
	return nil
}

// next takes the first op off the queue.
func (s *stream) next() (op, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.head == len(s.queue) {
		s.queue, s.head, s.running = nil, 0, false
		s.idle.Broadcast()
		return op{}, false
	}
	o := s.queue[s.head]
	s.queue[s.head] = op{}
	s.head++
	if s.head > 1024 && s.head > len(s.queue)/2 { // a queue that never runs dry must not grow for ever
		s.queue = append([]op(nil), s.queue[s.head:]...)
		s.head = 0
	}
	return o, true
}

// work runs ops until there are none.
func (s *stream) work() {
	done := false
	defer func() {
		if !done { // a function ended this goroutine (runtime.Goexit): go on in another
			go s.work()
		}
	}()
	for {
		o, ok := s.next()
		if !ok {
			done = true
			return
		}
		s.execute(o)
	}
}

// execute runs one op and keeps its failure, whichever way it ends.
func (s *stream) execute(o op) {
	var err error
	returned := false
	defer func() {
		if !returned {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			} else {
				err = fmt.Errorf("the function ended its goroutine")
			}
		}
		if err != nil {
			s.failed.CompareAndSwap(nil, &device.Error{Device: name, Call: o.call, Cause: err})
		}
		s.finish(o)
		s.pending.Add(-1)
	}()
	if o.run != nil && s.failed.Load() == nil {
		err = o.run()
	}
	returned = true
}

// finish runs the end of an op, which may call code of others: the release
// functions of wrapped buffers.
func (s *stream) finish(o op) {
	if o.after == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			err := fmt.Errorf("panic in a release: %v\n%s", p, debug.Stack())
			s.failed.CompareAndSwap(nil, &device.Error{Device: name, Call: o.call, Cause: err})
		}
	}()
	o.after()
}

func (s *stream) Call(call string, f func() error) error {
	if f == nil {
		return mismatch(call, "no function given")
	}
	return s.enqueue(op{call: call, run: f})
}

func (s *stream) Free(b *memory.Buffer) error {
	if err := s.enqueue(op{call: "free", after: b.Release}); err != nil {
		b.Release() // closed: all work is done
		return err
	}
	return s.failure()
}

func (s *stream) Wait(ctx context.Context) error {
	if s.pending.Load() == 0 {
		if s.closed.Load() {
			return device.Errorf(device.ErrClosed, name, "wait", "the stream is closed")
		}
		return s.failure()
	}
	reached := make(chan struct{})
	if err := s.enqueue(op{call: "wait", after: func() { close(reached) }}); err != nil {
		return err
	}
	select {
	case <-reached:
		return s.failure()
	case <-ctx.Done():
		return device.Canceled(ctx, name, "wait")
	}
}

func (s *stream) Close() error {
	s.mu.Lock()
	first := s.closed.CompareAndSwap(false, true)
	for s.running {
		s.idle.Wait()
	}
	s.mu.Unlock()
	if !first {
		return nil
	}
	s.device.mu.Lock()
	delete(s.device.streams, s)
	s.device.mu.Unlock()
	return s.failure()
}
