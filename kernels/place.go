package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// OnHost is a column of the backend where Go code can read it, as a new
// reference: the column itself on the host, else a copy of it, window and all,
// that is there when the call returns. When ctx ends first it is an ErrCanceled.
func (b *Backend) OnHost(ctx context.Context, s device.Stream, c *memory.Column) (_ *memory.Column, err error) {
	const call = "copy to host"
	defer b.guard(call, &err)
	if c == nil {
		return nil, b.fail(device.ErrMismatch, call, "no column given")
	}
	if c.Place().HostAccessible() {
		if err := s.Wait(ctx); err != nil {
			return nil, err
		}
		return c.Retain(), nil
	}
	return device.Move(ctx, s, b.Device.Pinned(), c)
}

// OnDevice is a column where the backend's kernels read it, as a new reference:
// the column itself if it is there, else a copy of it, window and all.
func (b *Backend) OnDevice(ctx context.Context, s device.Stream, c *memory.Column) (_ *memory.Column, err error) {
	const call = "copy to device"
	defer b.guard(call, &err)
	if c == nil {
		return nil, b.fail(device.ErrMismatch, call, "no column given")
	}
	if p := b.Device.Place(); c.Place() == p || c.Place().HostAccessible() && p.HostAccessible() {
		return c.Retain(), nil
	}
	return device.Move(ctx, s, b.Device.Memory(), c)
}

// FromScalars makes a column of the backend of values of type t, or of nulls
// of any, as the function FromScalars does on the host.
func (b *Backend) FromScalars(ctx context.Context, s device.Stream, t arrow.DataType, values []Scalar) (_ *memory.Column, err error) {
	defer b.guard("column of scalars", &err)
	if b.Device.Place().HostAccessible() {
		return FromScalars(b.Device.Memory(), t, values)
	}
	c, err := FromScalars(b.Device.Pinned(), t, values)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	return device.Move(ctx, s, b.Device.Memory(), c)
}

// Scalar is value i of a column of the backend. Elsewhere than on the host all
// of the column is copied: it is meant for results of a row or a few.
func (b *Backend) Scalar(ctx context.Context, s device.Stream, c *memory.Column, i int64) (v Scalar, err error) {
	defer b.guard("read value", &err)
	if i < 0 || i >= c.Len() {
		return Scalar{}, b.fail(device.ErrMismatch, "read value", "row %d of a column of %d", i, c.Len())
	}
	h, err := b.OnHost(ctx, s, c)
	if err != nil {
		return Scalar{}, err
	}
	defer h.Release()
	return ScalarAt(h, i), nil
}
