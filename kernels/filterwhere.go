package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// MaskFunc is the mask of n rows from a row on: a bool column of n values. It
// may be called from several goroutines, for any rows and for some twice.
type MaskFunc func(ctx context.Context, from, n int64) (*memory.Column, error)

// FilterWhereFunc keeps, in order, the rows of columns that a mask says, and
// makes the mask run by run while what it reads is in the caches: one pass over
// memory for the condition and the columns. done is false where it declines, and
// then nothing came of it: columns that it does not take, few rows, masks that
// keep all or many more than a sample of them.
type FilterWhereFunc func(ctx context.Context, s device.Stream, columns []*memory.Column, mask MaskFunc) (kept []*memory.Column, done bool, err error)

// FilterWhere is Filter of every column by a mask that is made run by run. At
// least one column is given, all of one length. done is false where the backend
// has no such pass or none for these rows, and Filter is to be called. A null
// in the mask drops the row.
func (b *Backend) FilterWhere(ctx context.Context, s device.Stream, columns []*memory.Column, mask MaskFunc) (kept []*memory.Column, done bool, err error) {
	const call = "filter_where"
	defer b.guard(call, &err)
	e := b.Set.FilterWhere
	if e.Func == nil || len(columns) == 0 {
		return nil, false, nil
	}
	if anyHalf(columns) {
		kept, err = moved(columns, false, func(w []*memory.Column) (_ []*memory.Column, err error) {
			kept, done, err = b.FilterWhere(ctx, s, w, mask)
			return kept, err
		})
		return kept, done, err
	}
	for _, c := range columns {
		if err := b.admit(ctx, s, call, true, b.Set.Filter.Types, c); err != nil {
			return nil, false, err
		}
		if err := b.sameLength(call, c, columns[0]); err != nil {
			return nil, false, err
		}
	}
	for _, c := range columns {
		if !e.Types.Has(c.Type().ID()) {
			return nil, false, nil
		}
	}
	return e.Func(ctx, s, columns, func(ctx context.Context, from, n int64) (*memory.Column, error) {
		m, err := mask(ctx, from, n)
		if err != nil {
			return nil, err
		}
		if m.Type().ID() != arrow.BOOL || m.Len() != n {
			defer m.Release()
			return nil, b.fail(device.ErrMismatch, call, "the mask is %d values of %s, not %d bools", m.Len(), m.Type(), n)
		}
		return m, nil
	})
}
