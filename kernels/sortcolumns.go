package kernels

import (
	"context"
	"slices"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// SortColumnsFunc gives columns with their rows in the order of the keys.
type SortColumnsFunc func(ctx context.Context, s device.Stream, keys []SortKey, columns []*memory.Column) ([]*memory.Column, error)

// SortColumns gives columns, of any type and as long as the keys (ErrMismatch),
// with their rows in the order of the keys: it equals SortIndices, and Take of
// each column. A set that has an entry for it may move columns along with their
// keys, so that their rows are not looked up at random; without one it is those
// two. A key may be among the columns.
func (b *Backend) SortColumns(ctx context.Context, s device.Stream, keys []SortKey, columns []*memory.Column) (sorted []*memory.Column, err error) {
	const call = "sort_columns"
	defer b.guard(call, &err)
	if anyHalf(columns) {
		return moved(columns, false, func(w []*memory.Column) ([]*memory.Column, error) { return b.SortColumns(ctx, s, keys, w) })
	}
	e := b.Set.SortIndices
	if err := b.admitKeys(ctx, s, call, e.Func != nil, e.Types, keys); err != nil {
		return nil, err
	}
	if err := b.admit(ctx, s, call, b.Set.Take.Func != nil, b.Set.Take.Types, columns...); err != nil {
		return nil, err
	}
	if err := b.sameLength(call, append([]*memory.Column{keys[0].Values}, columns...)...); err != nil {
		return nil, err
	}
	if whole := b.Set.SortColumns; whole.Func != nil && !slices.ContainsFunc(keys, func(k SortKey) bool { return !whole.Types.Has(k.Values.Type().ID()) }) {
		return whole.Func(ctx, s, keys, columns)
	}
	rows, err := e.Func(ctx, s, keys)
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	return b.TakeColumns(ctx, s, columns, rows)
}

// TakeColumns is Take of each column, with trusted indices.
func (b *Backend) TakeColumns(ctx context.Context, s device.Stream, columns []*memory.Column, rows *memory.Column) ([]*memory.Column, error) {
	var all []*memory.Column
	for _, c := range columns {
		taken, err := b.Take(ctx, s, c, rows, TakeOptions{Trusted: true})
		if err != nil {
			for _, t := range all {
				t.Release()
			}
			return nil, err
		}
		all = append(all, taken)
	}
	return all, nil
}
