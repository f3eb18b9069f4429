package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// MinMaxFunc is the Min and the Max of Reduce, in one pass over the column: the
// same values, and as many bytes moved as the column has.
type MinMaxFunc func(ctx context.Context, s device.Stream, c *memory.Column, o AggregateOptions) (least, greatest *memory.Column, err error)

// MinMax reduces a column to its least and its greatest value, as Reduce does,
// of which it has the errors. Backends that have no such pass make two.
func (b *Backend) MinMax(ctx context.Context, s device.Stream, c *memory.Column, o AggregateOptions) (least, greatest *memory.Column, err error) {
	const call = "min_max"
	defer b.guard(call, &err)
	e := b.Set.MinMax
	if e.Func != nil && c != nil {
		if err := b.admit(ctx, s, call, true, b.Set.Reduce.Types, c); err != nil {
			return nil, nil, err
		}
		if e.Types.Has(c.Type().ID()) {
			return e.Func(ctx, s, c, o)
		}
	}
	if least, err = b.Reduce(ctx, s, Min, c, o); err != nil {
		return nil, nil, err
	}
	if greatest, err = b.Reduce(ctx, s, Max, c, o); err != nil {
		least.Release()
		return nil, nil, err
	}
	return least, greatest, nil
}
