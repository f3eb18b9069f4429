package opencl

import (
	"context"

	"github.com/volley-go/volley/device"
)

var _ device.Foreign = (*Device)(nil)

// Context is the cl_context that all memory of the device is of. A cl_mem of
// another library is of use here only if it was made in it.
func (d *Device) Context() uintptr { return d.core.context }

// Extent is the size of a cl_mem of the device's context.
func (d *Device) Extent(mem uintptr) (int64, error) {
	const call = "clGetMemObjectInfo"
	if mem == 0 {
		return 0, d.mismatch(call, "a cl_mem of 0")
	}
	if err := d.alive(call); err != nil {
		return 0, err
	}
	of, st := d.core.drv.getMemObjectInfo(mem, memContext)
	if st != success {
		return 0, d.core.failed(call, st)
	}
	if of != d.core.context {
		return 0, d.mismatch(call, "a cl_mem of another context than the device's")
	}
	size, st := d.core.drv.getMemObjectInfo(mem, memSize)
	if st != success {
		return 0, d.core.failed(call, st)
	}
	return int64(size), nil
}

// Await waits for a cl_event of any library. The queue that it is of must have
// been flushed.
func (d *Device) Await(ctx context.Context, event uintptr, done func()) error {
	const call = "await"
	if event == 0 {
		done()
		return d.mismatch(call, "a cl_event of 0")
	}
	if err := d.alive(call); err != nil {
		done()
		return err
	}
	wait := func() error {
		defer done()
		st := d.core.drv.waitForEvent(event)
		if st == success {
			return nil
		}
		if ran, asked := d.core.drv.getEventStatus(event); asked == success && ran < 0 {
			st = status(ran)
		}
		return d.core.failedAs(call, st, st.runKind())
	}
	if ctx.Done() == nil {
		return wait()
	}
	reached := make(chan error, 1)
	go func() { reached <- wait() }()
	select {
	case err := <-reached:
		return err
	case <-ctx.Done():
		return device.Canceled(ctx, d.Name(), call)
	}
}

// RecordOn is not there: an event of a command queue of another library would have
// to be flushed there.
func (d *Device) RecordOn(uintptr, device.Event) error {
	return device.Errorf(device.ErrUnsupported, d.Name(), "record", "a command queue of another library")
}
