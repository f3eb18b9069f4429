package kernels

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/apache/arrow-go/v18/arrow"
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
		err := b.fail(device.ErrUnsupported, call, "the %s backend has no such kernel", b.Set.Name)
		err.(*device.Error).Cause = &LackError{Device: b.Device.Name()}
		return err
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
			return b.lack(call, i, c.Type())
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

// LackError is the cause of an ErrUnsupported of a device that has not got a
// kernel, or has it for other types: callers who know what the column is put
// that in their own words.
type LackError struct {
	Device string
	Column int              // of the columns that the call was given
	Types  []arrow.DataType // of that column, and of what it was to become; empty where there is no such kernel
}

// Error says what is not there where nobody puts it better.
func (e *LackError) Error() string {
	if len(e.Types) == 0 {
		return "no such kernel on " + e.Device
	}
	return fmt.Sprintf("column %d is of type %s", e.Column, e.Types[0])
}

// lack is the ErrUnsupported of a call for which a device has nothing.
func (b *Backend) lack(call string, column int, t arrow.DataType) error {
	name := b.Device.Name()
	return &device.Error{Device: name, Call: call, Kind: device.ErrUnsupported, Cause: &LackError{Device: name, Column: column, Types: []arrow.DataType{t}}}
}

// Lacking puts an error with a LackError in a caller's words, which say what
// was to be done with the column: "column "s": sort by utf8" is not there on the
// device. It stays of its kind. Other errors, and nil, are given as they are.
func Lacking(err error, what func(*LackError) string) error {
	var l *LackError
	if said := (*lacking)(nil); errors.As(err, &said) || !errors.As(err, &l) {
		return err
	}
	text := fmt.Sprintf("unsupported: %s is not there on %s", what(l), l.Device)
	if l.Device != hostName {
		text += "; " + hostName + " has it"
	}
	return &lacking{text, err}
}

// hostName is the device that has all kernels for all types that are defined.
const hostName = "cpu"

// lacking is an error with another text.
type lacking struct {
	text  string
	cause error
}

func (l *lacking) Error() string { return l.text }
func (l *lacking) Unwrap() error { return l.cause }
