package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// FilterOptions say what a null in the mask does.
type FilterOptions struct {
	// EmitNull gives a null row for a null in the mask; without it the row is dropped.
	EmitNull bool
}

// FilterFunc keeps the rows of c where the bool column mask, of the same
// length, is true, in order.
type FilterFunc func(ctx context.Context, s device.Stream, c, mask *memory.Column, o FilterOptions) (*memory.Column, error)

// Filter keeps the rows of c where mask, a bool column of the same length, is
// true, in order. c is of any type. A null in the mask drops the row, or makes
// a null row with EmitNull. Lengths that differ and a mask of another type are
// an ErrMismatch.
func (b *Backend) Filter(ctx context.Context, s device.Stream, c, mask *memory.Column, o FilterOptions) (_ *memory.Column, err error) {
	const call = "filter"
	defer b.guard(call, &err)
	if isHalf(c) {
		return movedOne([]*memory.Column{c}, func(w []*memory.Column) (*memory.Column, error) { return b.Filter(ctx, s, w[0], mask, o) })
	}
	entry := &b.Set.Filter
	if err := b.admit(ctx, s, call, entry.Func != nil, entry.Types, c); err != nil {
		return nil, err
	}
	if mask.Type().ID() != arrow.BOOL {
		return nil, b.fail(device.ErrMismatch, call, "the mask is of type %s, not bool", mask.Type())
	}
	if err := b.admit(ctx, s, call, true, BoolTypes, mask); err != nil {
		return nil, err
	}
	if err := b.sameLength(call, c, mask); err != nil {
		return nil, err
	}
	return entry.Func(ctx, s, c, mask, o)
}
