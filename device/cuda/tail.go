package cuda

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/device"
)

// reapDelay is how long what a stream holds may outlive its work when nobody
// waits for the stream. Memory that runs out does not wait for it.
const reapDelay = time.Millisecond

// launchNumbers orders the launches of all streams.
var launchNumbers atomic.Int64

// launched is a launch that may not be done.
type launched struct {
	name   string
	number int64
}

// given is work that the driver was given.
type given struct {
	number uint64
	call   string
	launch launched // zero for other work
	after  func()
}

// tail is the work that a stream has given to the driver and that is not known
// to be done, and who holds what until then.
type tail struct {
	mu       sync.Mutex
	work     []given
	last     uint64   // the number of the latest work
	done     uint64   // all up to this number is done
	current  launched // a launch that is being given
	reaping  bool     // a timer or its goroutine sees to the end of work
	timer    *time.Timer
	stopping bool
	reaped   sync.Cond // reaping became false

	retiring sync.Mutex // what comes after work runs in the order of the work
}

// marker is a point in a stream's work: an event to wait for, 0 if there is
// nothing to wait for, and the number of the work before it.
type marker struct {
	event  handle
	number uint64
}

// launching notes a launch before the driver has it.
func (t *tail) launching(name string) {
	t.mu.Lock()
	t.current = launched{name, launchNumbers.Add(1)}
	t.mu.Unlock()
}

// add puts work at the end and sees to it that somebody will reap.
func (s *stream) add(o op) {
	t := &s.tail
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	t.work = append(t.work, given{t.last, o.call, t.current, o.after})
	t.current = launched{}
	if !t.reaping && !t.stopping {
		t.reaping = true
		t.timer = time.AfterFunc(reapDelay, s.reap)
	}
}

// launches names the launches that may not be done.
func (t *tail) launches() []launched {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []launched
	for _, w := range t.work {
		if w.launch.name != "" {
			all = append(all, w.launch)
		}
	}
	if t.current.name != "" {
		all = append(all, t.current)
	}
	return all
}

func (d *Device) launches() []launched {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []launched
	for s := range d.streams {
		all = append(all, s.tail.launches()...)
	}
	return all
}

// marker marks the work given so far.
func (s *stream) marker() marker {
	d := s.device
	s.tail.mu.Lock()
	m := marker{number: s.tail.last}
	busy := s.tail.last != s.tail.done
	s.tail.mu.Unlock()
	if !busy {
		return m
	}
	c := d.in(func() code {
		e, c := d.marks.get(d.lib.driver)
		if c != success {
			return c
		}
		m.event = e
		return d.lib.driver.eventRecord(e, s.handle)
	})
	if err := d.check("wait", c); err != nil {
		s.fail("wait", err)
		d.marks.put(m.event)
		m.event = 0
	}
	return m
}

// reach waits for a marker and ends the work before it. Its error is that of
// the context; what the driver says becomes the stream's failure.
func (s *stream) reach(ctx context.Context, m marker) error {
	d := s.device
	if m.event != 0 {
		err := d.awaitContext(ctx, "wait", m.event, func() { d.marks.put(m.event) })
		if errors.Is(err, device.ErrCanceled) {
			return err
		}
		if err != nil {
			s.fail("wait", err)
		}
	}
	s.tail.retiring.Lock()
	defer s.tail.retiring.Unlock()
	s.retire(m.number)
	return nil
}

// settle waits until the GPU has done all work that it was given.
func (s *stream) settle() { _ = s.reach(context.Background(), s.marker()) } // this context does not end

// drain is settle for a goroutine that may be within the end of some work. busy
// says that some goroutine, perhaps this one, is ending work at the moment.
func (s *stream) drain() (busy bool) {
	m := s.marker()
	if m.event != 0 {
		if err := s.device.check("wait", s.device.await(m.event)); err != nil {
			s.fail("wait", err)
		}
		s.device.marks.put(m.event)
	}
	if !s.tail.retiring.TryLock() {
		return true
	}
	defer s.tail.retiring.Unlock()
	s.retire(m.number)
	return false
}

// retire ends the work up to a number; retiring is held.
func (s *stream) retire(number uint64) {
	t := &s.tail
	t.mu.Lock()
	n := 0
	for n < len(t.work) && t.work[n].number <= number {
		n++
	}
	ended := t.work[:n:n]
	t.work = append([]given(nil), t.work[n:]...)
	t.done = max(t.done, number)
	t.mu.Unlock()
	for _, w := range ended {
		s.finish(w.call, w.after)
	}
}

// reap ends work that nobody waits for, as long as there is any.
func (s *stream) reap() {
	t := &s.tail
	for {
		t.mu.Lock()
		if len(t.work) == 0 || t.stopping {
			t.reaping = false
			t.reaped.Broadcast()
			t.mu.Unlock()
			return
		}
		t.mu.Unlock()
		s.settle()
	}
}

// stop ends the reaper and waits for that.
func (t *tail) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopping = true
	if t.reaping && t.timer.Stop() {
		t.reaping = false
	}
	for t.reaping {
		t.reaped.Wait()
	}
}
