package cuda

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

// op is one piece of work of a stream.
type op struct {
	call   string
	launch bool                // a launch, to be named when the device is lost
	ready  <-chan struct{}     // closed when the op can be given to the driver; nil: it can
	host   bool                // run is for the host, once the GPU has done all work before
	slow   bool                // run may wait: not in the goroutine of the caller
	run    func() error        // gives the work to the driver or does it; skipped once the stream has failed
	mark   func(failure error) // in place of run, also once the stream has failed
	after  func()              // always runs, when the work is done: gives back what it held
}

// stream gives work to a CUstream. As long as all of it is for the GPU, the
// caller's goroutine gives it to the driver. Work for the host, and all that is
// given behind it, goes through a queue and a goroutine that lives while there
// is any.
type stream struct {
	device *Device
	handle handle
	failed atomic.Pointer[device.Error]
	closed atomic.Bool
	ended  chan struct{} // closed at the end of Close

	mu      sync.Mutex // the order of work
	queue   []op
	head    int // the next op of queue
	running bool
	idle    sync.Cond // running became false

	tail tail // what the driver was given
}

// NewStream makes a stream of the device.
func (d *Device) NewStream() (device.Stream, error) {
	const call = "new stream"
	if err := d.alive(call); err != nil {
		return nil, err
	}
	s := &stream{device: d, ended: make(chan struct{})}
	s.idle.L = &s.mu
	s.tail.reaped.L = &s.tail.mu
	c := d.in(func() (c code) {
		s.handle, c = d.lib.driver.streamCreate(streamNonBlocking)
		return c
	})
	if err := d.check(call, c); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed.Load() {
		_ = d.in(func() code { return d.lib.driver.streamDestroy(s.handle) }) // closed meanwhile: that is the error
		return nil, d.closedError(call)
	}
	d.streams[s] = struct{}{}
	return s, nil
}

func (s *stream) Device() device.Device { return s.device }

// failure is the sticky error of the stream or of the device, or nil.
func (s *stream) failure() error {
	if e := s.failed.Load(); e != nil {
		return e
	}
	return s.device.lostError()
}

// fail keeps the first failure.
func (s *stream) fail(call string, err error) {
	e, ok := err.(*device.Error)
	if !ok {
		e = &device.Error{Device: s.device.name, Call: call, Cause: err}
	}
	s.failed.CompareAndSwap(nil, e)
}

// give takes work, or ends it at once where the stream takes no more.
func (s *stream) give(o op) error {
	s.mu.Lock()
	if s.closed.Load() {
		s.mu.Unlock()
		s.finish(o.call, o.after)
		return device.Errorf(device.ErrClosed, s.device.name, o.call, "the stream is closed")
	}
	if err := s.failure(); err != nil && o.run != nil {
		s.mu.Unlock()
		s.finish(o.call, o.after)
		return err
	}
	if s.running || o.host || o.slow || o.ready != nil {
		s.enqueue(o)
		s.mu.Unlock()
		return nil
	}
	s.issue(o)
	s.mu.Unlock()
	return s.failure()
}

// enqueue leaves o to the stream's goroutine; mu is held.
func (s *stream) enqueue(o op) {
	s.queue = append(s.queue, o)
	if !s.running {
		s.running = true
		go s.work()
	}
}

// issue gives o to the driver. It is called by the stream's goroutine, or under
// mu while there is none.
func (s *stream) issue(o op) {
	if o.ready != nil {
		<-o.ready
	}
	switch {
	case o.mark != nil:
		o.mark(s.failure())
	case o.run != nil && s.failure() == nil:
		if o.launch {
			s.tail.launching(o.call)
		}
		if err := o.run(); err != nil {
			s.fail(o.call, err)
		}
	}
	if o.run == nil && o.after == nil {
		return // a wait, which is no work
	}
	s.add(o)
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

// work takes ops until there are none.
func (s *stream) work() {
	done := false
	defer func() {
		if !done { // a function ended this goroutine (runtime.Goexit): go on in another
			go s.work()
		}
	}()
	for {
		o, ok := s.next()
		switch {
		case !ok:
			done = true
			return
		case o.host:
			s.onHost(o)
		default:
			s.issue(o)
		}
	}
}

// onHost runs an op of the host behind everything that the driver was given.
func (s *stream) onHost(o op) {
	s.settle()
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
		if err != nil { // also one of a device has this call's name put before it
			s.failed.CompareAndSwap(nil, &device.Error{Device: s.device.name, Call: o.call, Cause: err})
		}
		s.finish(o.call, o.after)
	}()
	if s.failure() == nil {
		err = o.run()
	}
	returned = true
}

// finish runs the end of an op, which may call code of others: the release
// functions of wrapped buffers.
func (s *stream) finish(call string, after func()) {
	if after == nil {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			s.fail(call, fmt.Errorf("panic in a release: %v\n%s", p, debug.Stack()))
		}
	}()
	after()
}

func (s *stream) Call(call string, f func() error) error {
	if f == nil {
		return s.device.mismatch(call, "no function given")
	}
	return s.give(op{call: call, host: true, run: f})
}

func (s *stream) Free(b *memory.Buffer) error {
	if err := s.give(op{call: "free", after: b.Release}); err != nil {
		return err
	}
	return s.failure()
}

func (s *stream) Wait(ctx context.Context) error {
	const call = "wait"
	s.mu.Lock()
	if s.closed.Load() {
		s.mu.Unlock()
		return device.Errorf(device.ErrClosed, s.device.name, call, "the stream is closed")
	}
	var m marker
	if !s.running {
		m = s.marker()
		s.mu.Unlock()
	} else {
		reached := make(chan marker, 1)
		s.enqueue(op{call: call, mark: func(error) { reached <- s.marker() }})
		s.mu.Unlock()
		select {
		case m = <-reached:
		case <-ctx.Done():
			go func() { s.device.marks.put((<-reached).event) }()
			return device.Canceled(ctx, s.device.name, call)
		}
	}
	if err := s.reach(ctx, m); err != nil {
		return err
	}
	return s.failure()
}

func (s *stream) Close() error {
	s.mu.Lock()
	first := s.closed.CompareAndSwap(false, true)
	for s.running {
		s.idle.Wait()
	}
	s.mu.Unlock()
	if !first {
		<-s.ended
		return nil
	}
	defer close(s.ended)
	s.settle()
	s.tail.stop()
	d := s.device
	err := s.failure()
	c := d.in(func() code { return d.lib.driver.streamDestroy(s.handle) })
	if destroyed := d.check("close stream", c); err == nil {
		err = destroyed
	}
	d.mu.Lock()
	delete(d.streams, s)
	d.mu.Unlock()
	return err
}
