package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// AggregateFunc aggregates values by group: row i of values belongs to group
// ids[i] < n, to none if that is null. The result has n rows. values is nil for
// CountAll. Floats are summed within a group in a shape fixed by data and n. A
// sum or product that a group of the result does not fit is an OverflowError.
type AggregateFunc func(ctx context.Context, s device.Stream, op Aggregation, values, ids *memory.Column, n int64, o AggregateOptions) (*memory.Column, error)

// checkAggregate holds an aggregation against the type and length of its
// values; rows is the number of rows that are grouped.
func (b *Backend) checkAggregate(call string, op Aggregation, values *memory.Column, rows int64, o AggregateOptions) error {
	if op == ArgMin || op == ArgMax {
		return b.fail(device.ErrUnsupported, call, "%s by group", op)
	}
	if o.Ddof < 0 {
		return b.fail(device.ErrMismatch, call, "ddof %d is negative", o.Ddof)
	}
	if op == CountAll {
		if values != nil {
			return b.fail(device.ErrMismatch, call, "%s takes no values", op)
		}
		return nil
	}
	if values == nil {
		return b.fail(device.ErrMismatch, call, "%s without values", op)
	}
	if values.Len() != rows {
		return b.fail(device.ErrMismatch, call, "%d values for %s over %d rows", values.Len(), op, rows)
	}
	_, err := AggregateType(op, values.Type())
	return err
}

// Aggregate aggregates values by group into a column of n rows of AggregateType.
// ids, of uint32 or uint64 as Group gives them, are as long as values, and each
// is less than n or null. ArgMin and ArgMax are ErrUnsupported by group; lengths
// and types that disagree are an ErrMismatch.
func (b *Backend) Aggregate(ctx context.Context, s device.Stream, op Aggregation, values, ids *memory.Column, n int64, o AggregateOptions) (c *memory.Column, err error) {
	const call = "aggregate"
	defer b.guard(call, &err)
	if ids == nil {
		return nil, b.fail(device.ErrMismatch, call, "no group numbers")
	}
	if id := ids.Type().ID(); id != arrow.UINT32 && id != arrow.UINT64 {
		return nil, b.fail(device.ErrMismatch, call, "group numbers of type %s, not uint32 or uint64", ids.Type())
	}
	if n < 0 {
		return nil, b.fail(device.ErrMismatch, call, "%d groups", n)
	}
	have, types := b.Set.Aggregate.Func != nil, b.Set.Aggregate.Types
	if err := b.admit(ctx, s, call, have, types, ids, values); err != nil {
		return nil, err
	}
	if err := b.checkAggregate(call, op, values, ids.Len(), o); err != nil {
		return nil, err
	}
	return b.Set.Aggregate.Func(ctx, s, op, values, ids, n, o)
}
