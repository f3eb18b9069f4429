package opencl

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/device"
)

// point is one recording of an event.
type point struct {
	core    *core
	reached chan struct{} // closed when the stream got there
	at      time.Time     // on the host
	end     uint64        // on the device, in nanoseconds; 0 where it does not tell
	err     error         // the stream's failure at that moment

	mu    sync.Mutex
	event handle // of the driver, while it may be waited for; guarded by mu
}

// event holds its latest point; recording again makes a new one, so that work
// that waits for the earlier one is not held up.
type event struct {
	device *Device
	latest atomic.Pointer[point]
	closed atomic.Bool
}

// NewEvent makes an event that was not recorded yet.
func (d *Device) NewEvent() (device.Event, error) {
	if err := d.alive("new event"); err != nil {
		return nil, err
	}
	return &event{device: d}, nil
}

// ownEvent finds the event behind e.
func (d *Device) ownEvent(call string, e device.Event) (*event, error) {
	ev, ok := e.(*event)
	if !ok || ev == nil {
		return nil, d.mismatch(call, "an event (%T) that is not OpenCL's", e)
	}
	return ev, ev.alive(call)
}

func (e *event) alive(call string) error {
	if e.closed.Load() {
		return device.Errorf(device.ErrClosed, e.device.Name(), call, "the event is closed")
	}
	return nil
}

func (s *stream) Record(e device.Event) error {
	ev, err := s.device.ownEvent("record", e)
	if err != nil {
		return err
	}
	if err := s.failure(); err != nil {
		return err
	}
	c := s.device.core
	p := &point{core: c, reached: make(chan struct{})}
	var marker handle
	o := &op{call: "record"}
	o.issue = func() (handle, error) {
		var st status
		if marker, st = c.drv.enqueueMarkerWithWaitList(s.queue, nil); st != success {
			return 0, c.failed("clEnqueueMarkerWithWaitList", st)
		}
		p.mu.Lock()
		p.event = marker
		p.mu.Unlock()
		return marker, nil
	}
	o.done = func() { // while the event is still there
		if end, st := c.drv.getEventCommandEnd(marker); st == success {
			p.end = end
		}
		p.mu.Lock()
		p.event = 0
		p.mu.Unlock()
	}
	o.after = func() {
		p.at, p.err = time.Now(), s.failure()
		close(p.reached)
	}
	if err := s.enqueue(o); err != nil {
		return err
	}
	ev.latest.Store(p)
	return nil
}

func (s *stream) WaitEvent(e device.Event) error {
	ev, err := s.device.ownEvent("wait event", e)
	if err != nil {
		return err
	}
	p := ev.latest.Load()
	o := &op{call: "wait event", run: func() error { return nil }}
	if p != nil {
		o.run = func() error {
			<-p.reached
			return p.err
		}
		o.issue = func() (handle, error) { return s.await(p) }
	}
	return s.enqueue(o)
}

// await makes the queue wait for a point where the driver can do so: one of
// the same context that was given to it.
func (s *stream) await(p *point) (handle, error) {
	c := s.device.core
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.core != c || p.event == 0 {
		return 0, errLater
	}
	event, st := c.drv.enqueueBarrier(s.queue, []handle{p.event})
	if st != success {
		return 0, c.failed("clEnqueueBarrierWithWaitList", st)
	}
	return event, nil
}

func (e *event) Done() (bool, error) {
	if err := e.alive("done"); err != nil {
		return false, err
	}
	p := e.latest.Load()
	if p == nil {
		return true, nil
	}
	select {
	case <-p.reached:
		return true, p.err
	default:
		return false, nil
	}
}

func (e *event) Wait(ctx context.Context) error {
	if err := e.alive("wait"); err != nil {
		return err
	}
	p := e.latest.Load()
	if p == nil {
		return nil
	}
	select {
	case <-p.reached:
		return p.err
	default:
	}
	select {
	case <-p.reached:
		return p.err
	case <-ctx.Done():
		return device.Canceled(ctx, e.device.Name(), "wait")
	}
}

// Since is by the device's clock where both points were on one device that
// tells the time, and by the host's otherwise.
func (e *event) Since(start device.Event) (time.Duration, error) {
	if err := e.alive("since"); err != nil {
		return 0, err
	}
	first, err := e.device.ownEvent("since", start)
	if err != nil {
		return 0, err
	}
	var points [2]*point
	for i, ev := range []*event{first, e} {
		p := ev.latest.Load()
		done, err := ev.Done()
		if err != nil {
			return 0, err
		}
		if !done || p == nil {
			return 0, e.device.mismatch("since", "an event that was not reached yet")
		}
		points[i] = p
	}
	from, to := points[0], points[1]
	if from.core == to.core && from.end != 0 && to.end != 0 {
		return time.Duration(int64(to.end - from.end)), nil
	}
	return to.at.Sub(from.at), nil
}

func (e *event) Close() error {
	e.closed.Store(true)
	return nil
}
