package kernels

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// SortKey is one column to order by. Keys go from the most significant on.
type SortKey struct {
	Values     *memory.Column
	Descending bool
	// NullsFirst puts nulls before all values, in either direction; without it
	// they come last. NaNs stand between values and nulls on that same side. A
	// dictionary key orders by the values that its indices stand for.
	NullsFirst bool
}

// SortIndicesFunc gives the rows (IndexType) in sorted order. It is stable:
// rows whose keys are equal keep their order. -0 equals 0; NaNs are equal;
// strings go by bytes; false before true. The result has no nulls.
type SortIndicesFunc func(ctx context.Context, s device.Stream, keys []SortKey) (*memory.Column, error)

// SortIndices checks its arguments and runs the set's SortIndices: there must
// be at least one key, and keys must have one length (ErrMismatch).
func (b *Backend) SortIndices(ctx context.Context, s device.Stream, keys []SortKey) (rows *memory.Column, err error) {
	const call = "sort_indices"
	defer b.guard(call, &err)
	e := b.Set.SortIndices
	if err := b.admitKeys(ctx, s, call, e.Func != nil, e.Types, keys); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, keys)
}

// admitKeys is admit for sort keys.
func (b *Backend) admitKeys(ctx context.Context, s device.Stream, call string, have bool, types Types, keys []SortKey) error {
	cols := make([]*memory.Column, len(keys))
	for i, k := range keys {
		cols[i] = k.Values
	}
	if err := b.admit(ctx, s, call, have, types, cols...); err != nil {
		return err
	}
	if len(keys) == 0 {
		return b.fail(device.ErrMismatch, call, "no keys to order by")
	}
	for i, k := range keys {
		if k.Values == nil {
			return b.fail(device.ErrMismatch, call, "key %d has no column", i)
		}
		if d, ok := k.Values.Type().(*arrow.DictionaryType); ok && !types.Has(d.ValueType.ID()) {
			return b.lack(call, i, d)
		}
	}
	return b.sameLength(call, cols...)
}

// String is the key as text for plans and error messages: "utf8 desc nulls
// first".
func (k SortKey) String() string {
	order, nulls := "asc", "last"
	if k.Descending {
		order = "desc"
	}
	if k.NullsFirst {
		nulls = "first"
	}
	return fmt.Sprintf("%s %s nulls %s", k.Values.Type(), order, nulls)
}
