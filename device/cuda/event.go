package cuda

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/device"
)

// point is one recording of an event. It is counted: its CUevent goes back for
// reuse when nobody needs it any more.
type point struct {
	device *Device
	issued chan struct{} // closed when the driver has the event, or the stream had failed
	event  handle        // valid once issued without err
	err    error         // the stream's failure at that moment
	number int64         // orders points by when they were issued
	refs   atomic.Int32
}

var pointNumbers atomic.Int64

// drop gives up one reference. The last one that goes before the point is
// issued leaves the event to whoever issues it, who has one too.
func (p *point) drop() {
	if p.refs.Add(-1) == 0 {
		p.device.timed.put(p.event)
	}
}

// event holds its latest point; recording again makes a new one, so that work
// that waits for the earlier one is not held up.
type event struct {
	device *Device

	mu     sync.Mutex
	latest *point
	closed bool
}

// NewEvent makes an event that was not recorded yet. One that is not closed
// holds a CUevent until the device closes.
func (d *Device) NewEvent() (device.Event, error) {
	if err := d.alive("new event"); err != nil {
		return nil, err
	}
	return &event{device: d}, nil
}

// ours finds the event behind e, which must be of a device of the same driver.
func (d *Device) ours(call string, e device.Event) (*event, error) {
	ev, ok := e.(*event)
	if !ok || ev == nil || ev.device.lib != d.lib {
		return nil, d.mismatch(call, "an event (%T) that is not of this driver", e)
	}
	return ev, nil
}

// point is the latest point with a reference for the caller, nil if there is none.
func (e *event) point(call string) (*point, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, device.Errorf(device.ErrClosed, e.device.name, call, "the event is closed")
	}
	if e.latest != nil {
		e.latest.refs.Add(1)
	}
	return e.latest, nil
}

// set makes p the latest point, with a reference of its own.
func (e *event) set(p *point) {
	e.mu.Lock()
	old := e.latest
	if e.closed {
		old = nil
	} else {
		p.refs.Add(1)
		e.latest = p
	}
	e.mu.Unlock()
	if old != nil {
		old.drop()
	}
}

func (s *stream) Record(e device.Event) error {
	const call = "record"
	ev, err := s.device.ours(call, e)
	if err != nil {
		return err
	}
	if old, err := ev.point(call); err != nil {
		return err
	} else if old != nil {
		old.drop()
	}
	if err := s.failure(); err != nil && !s.closed.Load() {
		return err
	}
	p := &point{device: s.device, issued: make(chan struct{})}
	p.refs.Store(2) // the op's, and one until the event has it
	defer p.drop()
	err = s.give(op{call: call, mark: func(failure error) {
		p.issue(s, failure)
	}, after: p.drop})
	if err == nil {
		ev.set(p)
	}
	return err
}

// issue records the point in its stream.
func (p *point) issue(s *stream, failure error) {
	d := s.device
	if failure == nil {
		c := d.in(func() code {
			e, c := d.timed.get(d.lib.driver)
			if c != success {
				return c
			}
			p.event = e
			return d.lib.driver.eventRecord(e, s.handle)
		})
		if failure = d.check("record", c); failure != nil {
			s.fail("record", failure)
		}
	}
	p.number, p.err = pointNumbers.Add(1), failure
	close(p.issued)
}

func (s *stream) WaitEvent(e device.Event) error {
	const call = "wait event"
	d := s.device
	ev, err := d.ours(call, e)
	if err != nil {
		return err
	}
	p, err := ev.point(call)
	if err != nil {
		return err
	}
	if p == nil {
		return s.give(op{call: call, run: func() error { return nil }})
	}
	o := op{call: call, after: p.drop, run: func() error {
		if p.err != nil {
			return p.err
		}
		return d.check(call, d.in(func() code { return d.lib.driver.streamWaitEvent(s.handle, p.event) }))
	}}
	select {
	case <-p.issued:
	default:
		o.ready = p.issued
	}
	return s.give(o)
}

// reached reports whether a point was reached, and the failure there.
func (p *point) reached(call string) (bool, error) {
	select {
	case <-p.issued:
	default:
		return false, nil
	}
	if p.err != nil {
		return true, p.err
	}
	d := p.device
	c := d.in(func() code { return d.lib.driver.eventQuery(p.event) })
	if c == errorNotReady {
		return false, nil
	}
	return true, d.check(call, c)
}

func (e *event) Done() (bool, error) {
	p, err := e.point("done")
	if err != nil {
		return false, err
	}
	if p == nil {
		return true, nil
	}
	defer p.drop()
	return p.reached("done")
}

func (e *event) Wait(ctx context.Context) error {
	const call = "wait"
	p, err := e.point(call)
	if err != nil || p == nil {
		return err
	}
	select {
	case <-p.issued:
	case <-ctx.Done():
		p.drop()
		return device.Canceled(ctx, e.device.name, call)
	}
	if p.err != nil {
		p.drop()
		return p.err
	}
	return p.device.awaitContext(ctx, call, p.event, p.drop)
}

func (e *event) Since(start device.Event) (time.Duration, error) {
	const call = "since"
	d := e.device
	to, err := e.point(call)
	if err != nil {
		return 0, err
	}
	if to != nil {
		defer to.drop()
	}
	first, err := d.ours(call, start)
	if err != nil {
		return 0, err
	}
	from, err := first.point(call)
	if err != nil {
		return 0, err
	}
	if from != nil {
		defer from.drop()
	}
	for _, p := range []*point{from, to} {
		if p == nil {
			return 0, d.mismatch(call, "an event that was never recorded")
		}
		done, err := p.reached(call)
		if err != nil {
			return 0, err
		}
		if !done {
			return 0, d.mismatch(call, "an event that was not reached yet")
		}
	}
	if from.device.context != to.device.context {
		return 0, d.mismatch(call, "events of %s and %s have no clock in common", from.device.name, to.device.name)
	}
	// The driver measures forwards only.
	sign := time.Duration(1)
	if from.number > to.number {
		from, to, sign = to, from, -1
	}
	var ms float32
	c := d.in(func() (c code) {
		ms, c = d.lib.driver.eventElapsed(from.event, to.event)
		return c
	})
	return sign * time.Duration(float64(ms)*float64(time.Millisecond)), d.check(call, c)
}

func (e *event) Close() error {
	e.mu.Lock()
	old := e.latest
	e.latest, e.closed = nil, true
	e.mu.Unlock()
	if old != nil {
		old.drop()
	}
	return nil
}
