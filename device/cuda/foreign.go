package cuda

import (
	"context"

	"github.com/volley-go/volley/device"
)

var _ device.Foreign = (*Device)(nil)

// Context is the device's primary CUcontext, which the CUDA runtime and what is
// built on it use too.
func (d *Device) Context() uintptr { return d.context.handle }

// Extent is not known: an address may be inside of an allocation.
func (d *Device) Extent(p uintptr) (int64, error) {
	if p == 0 {
		return 0, d.mismatch("extent", "an address of 0")
	}
	return -1, d.alive("extent")
}

// Await waits for a CUevent of any library.
func (d *Device) Await(ctx context.Context, event uintptr, done func()) error {
	const call = "await"
	if event == 0 {
		done()
		return d.mismatch(call, "an event of 0")
	}
	if err := d.alive(call); err != nil {
		done()
		return err
	}
	return d.awaitContext(ctx, call, event, done)
}

// RecordOn records an event on a CUstream of any library.
func (d *Device) RecordOn(queue uintptr, e device.Event) error {
	const call = "record"
	if err := d.alive(call); err != nil {
		return err
	}
	ev, err := d.ours(call, e)
	if err != nil {
		return err
	}
	p := &point{device: d, issued: make(chan struct{})}
	p.refs.Store(1) // until the event has it
	defer p.drop()
	c := d.in(func() (c code) {
		if p.event, c = d.timed.get(d.lib.driver); c != success {
			return c
		}
		return d.lib.driver.eventRecord(p.event, handle(queue))
	})
	p.number, p.err = pointNumbers.Add(1), d.check(call, c)
	close(p.issued)
	if p.err == nil {
		ev.set(p)
	}
	return p.err
}
