package kernels

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Backend is a device with the kernels that run on it. Its methods check their
// arguments and then call the Set.
type Backend struct {
	Device device.Device
	Set    *Set
}

// NewStream makes a stream on the backend's device.
func (b *Backend) NewStream() (device.Stream, error) { return b.Device.NewStream() }

// Close closes the backend's device.
func (b *Backend) Close() error { return b.Device.Close() }

// Kernels is the backend's set.
func (b *Backend) Kernels() *Set { return b.Set }

// fail makes the error of a call on this backend.
func (b *Backend) fail(kind error, call, format string, args ...any) error {
	return device.Errorf(kind, b.Device.Name(), call, format, args...)
}

// admit is the first thing every method does: the kernel must be there, the
// context alive, the stream of this device, and the columns (nil ones are
// passed over) on this device with types that the entry takes.
func (b *Backend) admit(ctx context.Context, s device.Stream, call string, have bool, types Types, cols ...*memory.Column) error {
	if !have {
		return b.fail(device.ErrUnsupported, call, "the %s backend has no such kernel", b.Set.Name)
	}
	if err := device.Canceled(ctx, b.Device.Name(), call); err != nil {
		return err
	}
	if s == nil {
		return b.fail(device.ErrMismatch, call, "no stream given")
	}
	if s.Device() != b.Device {
		return b.fail(device.ErrMismatch, call, "the stream belongs to %s", s.Device().Name())
	}
	for i, c := range cols {
		if c == nil {
			continue
		}
		if c.Place() != b.Device.Place() && !(c.Place().HostAccessible() && b.Device.Place() == memory.Host) {
			return b.fail(device.ErrMismatch, call, "column %d lives on %s", i, c.Place())
		}
		if !types.Has(c.Type().ID()) {
			return b.fail(device.ErrUnsupported, call, "column %d is of type %s", i, c.Type())
		}
	}
	if b.Device.Place() == memory.Host {
		return s.Wait(ctx) // host kernels run in the caller: after all that the stream was given
	}
	return nil
}

// guard turns a panic of an entry into an error, so that none leaves an
// exported function: `defer b.guard("filter", &err)`. It also puts the call's
// name on errors that have none.
func (b *Backend) guard(call string, err *error) {
	if p := recover(); p != nil {
		*err = b.fail(nil, call, "internal error: %v\n%s", p, debug.Stack())
		return
	}
	if *err == nil {
		return
	}
	e, typed := (*err).(*device.Error)
	switch {
	case !typed:
		*err = &device.Error{Device: b.Device.Name(), Call: call, Cause: *err}
	case e.Call == "":
		named := *e
		named.Device, named.Call = b.Device.Name(), call
		*err = &named
	}
}

// sameLength checks that columns have one length.
func (b *Backend) sameLength(call string, cols ...*memory.Column) error {
	for i, c := range cols {
		if c.Len() != cols[0].Len() {
			return b.fail(device.ErrMismatch, call, "column 0 has %d rows, column %d has %d", cols[0].Len(), i, c.Len())
		}
	}
	return nil
}

// mismatch is the error of a typing rule, before any device is known.
func mismatch(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{device.ErrMismatch}, args...)...)
}

// unsupported is the error of a combination that volley does not define.
func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{device.ErrUnsupported}, args...)...)
}
