package opencl

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// op is one piece of work in a stream. Work of the device has an issue, which
// gives it to the driver; work of the host has a run alone; what has neither is
// only told of when all before it is done.
type op struct {
	call  string
	issue func() (event handle, err error)
	run   func() error // on the host, when issue's event and all work before are done
	done  func()       // when issue's event is done, while it is still there; may be nil
	after func()       // always runs, last: gives back what the op held

	event handle // once issued
}

// errLater is what issue returns when the driver cannot order the work: it is
// then the host's.
var errLater = errors.New("not yet")

// stream is a command queue with a goroutine that lives while there is work.
type stream struct {
	device  *Device
	queue   handle
	pending atomic.Int64 // ops given and not yet done
	failed  atomic.Pointer[device.Error]
	closed  atomic.Bool

	mu      sync.Mutex
	ops     []*op
	head    int // the next op to be waited for
	next    int // the next op to be issued; all between head and next are
	running bool
	idle    sync.Cond // running became false
}

// NewStream makes a stream of the device.
func (d *Device) NewStream() (device.Stream, error) {
	const call = "new stream"
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.alive(call); err != nil {
		return nil, err
	}
	c := d.core
	queue, st := c.drv.createCommandQueue(c.context, c.proc.id, queueProfiling)
	if st != success {
		return nil, c.failed("clCreateCommandQueue", st)
	}
	s := &stream{device: d, queue: queue}
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

// outcome is the stream's failure, or else that of its device.
func (s *stream) outcome() error {
	if err := s.failure(); err != nil {
		return err
	}
	return s.device.core.alive()
}

// fail keeps the first failure.
func (s *stream) fail(call string, err error) {
	var e *device.Error
	if !errors.As(err, &e) || e != err {
		e = &device.Error{Device: s.device.Name(), Call: call, Cause: err}
	}
	s.failed.CompareAndSwap(nil, e)
}

// enqueue gives o to the driver, or puts it off where host work is ahead. When
// it can do neither, o.after is not run.
func (s *stream) enqueue(o *op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed.Load() {
		return device.Errorf(device.ErrClosed, s.device.Name(), o.call, "the stream is closed")
	}
	if o.run != nil || o.issue != nil {
		if err := s.failure(); err != nil {
			return err
		}
		if err := s.device.core.alive(); err != nil {
			return err
		}
	}
	s.pending.Add(1)
	s.ops = append(s.ops, o)
	s.advance()
	if !s.running {
		s.running = true
		go s.work()
	}
	return nil
}

// give enqueues o, or ends it at once where the stream takes no more.
func (s *stream) give(o *op) error {
	err := s.enqueue(o)
	if err != nil && o.after != nil {
		o.after()
	}
	return err
}

// advance issues ops up to the next that is the host's. The lock is held.
func (s *stream) advance() {
	flush := false
	for ; s.next < len(s.ops); s.next++ {
		o := s.ops[s.next]
		if s.failed.Load() == nil && o.issue != nil {
			event, err := o.issue()
			if err != nil {
				o.issue = nil
				if err != errLater {
					o.run = func() error { return err }
				}
			} else {
				o.event, flush = event, true
			}
		}
		if o.issue == nil && o.run != nil && s.failed.Load() == nil {
			break
		}
	}
	if flush {
		s.device.core.drv.flush(s.queue)
	}
}

// first is the op to wait for next.
func (s *stream) first() *op {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.head == len(s.ops) {
		s.ops, s.head, s.next, s.running = nil, 0, 0, false
		s.idle.Broadcast()
		return nil
	}
	return s.ops[s.head]
}

// leave takes the first op off and issues what it held up.
func (s *stream) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops[s.head] = nil
	s.head++
	s.next = max(s.next, s.head)
	if s.head > 1024 && s.head > len(s.ops)/2 { // a queue that never runs dry must not grow for ever
		s.ops = append([]*op(nil), s.ops[s.head:]...)
		s.next -= s.head
		s.head = 0
	}
	s.advance()
}

// work finishes ops in order until there are none.
func (s *stream) work() {
	done := false
	defer func() {
		if !done { // a function ended this goroutine (runtime.Goexit): go on in another
			go s.work()
		}
	}()
	for {
		o := s.first()
		if o == nil {
			done = true
			return
		}
		s.finish(o)
	}
}

// finish waits for one op and keeps its failure, whichever way it ends.
func (s *stream) finish(o *op) {
	var err error
	returned := false
	defer func() {
		if !returned {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			} else {
				err = errors.New("the function ended its goroutine")
			}
		}
		if err != nil {
			s.fail(o.call, err)
		}
		s.end(o)
		s.leave()
		s.pending.Add(-1)
	}()
	if o.event != 0 {
		err = s.device.core.wait(o.call, o.event, o.done)
	}
	if e, ok := err.(*device.Error); ok && o.run != nil && e.Code == int(waitListFailed) {
		err = nil // run tells the failure of what was waited for
	}
	if err == nil && o.run != nil && s.failed.Load() == nil {
		err = o.run()
	}
	returned = true
}

// end runs the end of an op, which may call code of others: the release
// functions of wrapped buffers.
func (s *stream) end(o *op) {
	if o.after == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			s.fail(o.call, fmt.Errorf("panic in a release: %v\n%s", p, debug.Stack()))
		}
	}()
	o.after()
}

func (s *stream) Call(call string, f func() error) error {
	if f == nil {
		return s.device.mismatch(call, "no function given")
	}
	return s.enqueue(&op{call: call, run: func() error {
		if err := f(); err != nil {
			return &device.Error{Device: s.device.Name(), Call: call, Cause: err}
		}
		return nil
	}})
}

func (s *stream) Free(b *memory.Buffer) error {
	if err := s.enqueue(&op{call: "free", after: b.Release}); err != nil {
		b.Release() // closed: all work is done
		return err
	}
	return s.failure()
}

func (s *stream) Wait(ctx context.Context) error {
	if s.pending.Load() == 0 {
		if s.closed.Load() {
			return device.Errorf(device.ErrClosed, s.device.Name(), "wait", "the stream is closed")
		}
		return s.outcome()
	}
	reached := make(chan struct{})
	if err := s.enqueue(&op{call: "wait", after: func() { close(reached) }}); err != nil {
		return err
	}
	select {
	case <-reached:
		return s.outcome()
	case <-ctx.Done():
		return device.Canceled(ctx, s.device.Name(), "wait")
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
	s.device.core.drv.releaseCommandQueue(s.queue)
	return s.failure()
}
