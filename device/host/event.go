package host

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/device"
)

// point is one recording of an event.
type point struct {
	reached chan struct{} // closed when the stream got there
	at      time.Time
	err     error // the stream's failure at that moment
}

// event holds its latest point; recording again makes a new one, so that work
// that waits for the earlier one is not held up.
type event struct {
	latest atomic.Pointer[point]
	closed atomic.Bool
}

// NewEvent makes an event that was not recorded yet.
func (d *Device) NewEvent() (device.Event, error) {
	if err := d.alive("new event"); err != nil {
		return nil, err
	}
	return &event{}, nil
}

// hostEvent finds the event behind e.
func hostEvent(call string, e device.Event) (*event, error) {
	ev, ok := e.(*event)
	if !ok || ev == nil {
		return nil, mismatch(call, "an event (%T) that is not the host's", e)
	}
	return ev, ev.alive(call)
}

func (e *event) alive(call string) error {
	if e.closed.Load() {
		return device.Errorf(device.ErrClosed, name, call, "the event is closed")
	}
	return nil
}

func (s *stream) Record(e device.Event) error {
	ev, err := hostEvent("record", e)
	if err != nil {
		return err
	}
	if err := s.failure(); err != nil {
		return err
	}
	p := &point{reached: make(chan struct{})}
	err = s.enqueue(op{call: "record", after: func() {
		p.at, p.err = time.Now(), s.failure()
		close(p.reached)
	}})
	if err == nil {
		ev.latest.Store(p)
	}
	return err
}

func (s *stream) WaitEvent(e device.Event) error {
	ev, err := hostEvent("wait event", e)
	if err != nil {
		return err
	}
	p := ev.latest.Load()
	return s.enqueue(op{call: "wait event", run: func() error {
		if p == nil {
			return nil
		}
		<-p.reached
		return p.err
	}})
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
		return device.Canceled(ctx, name, "wait")
	}
}

func (e *event) Since(start device.Event) (time.Duration, error) {
	if err := e.alive("since"); err != nil {
		return 0, err
	}
	first, err := hostEvent("since", start)
	if err != nil {
		return 0, err
	}
	var at [2]time.Time
	for i, ev := range []*event{first, e} {
		done, err := ev.Done()
		if err != nil {
			return 0, err
		}
		p := ev.latest.Load()
		if !done || p == nil {
			return 0, mismatch("since", "an event that was not reached yet")
		}
		at[i] = p.at
	}
	return at[1].Sub(at[0]), nil
}

func (e *event) Close() error {
	e.closed.Store(true)
	return nil
}
