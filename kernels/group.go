package kernels

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Groups number the distinct keys among rows.
type Groups struct {
	// IDs is the group of each row (IndexType), null for rows dropped.
	IDs *memory.Column
	// First is the first row of each group (IndexType): rising, unless AnyOrder.
	First *memory.Column
	// N is the number of groups.
	N int64
}

// Release drops the references to the columns.
func (g *Groups) Release() {
	if g != nil {
		g.IDs.Release()
		g.First.Release()
	}
}

// GroupOptions tune grouping.
type GroupOptions struct {
	// DropNullKeys leaves out rows with a null in any key; without it null is a
	// key like others, equal to itself.
	DropNullKeys bool
	// AnyOrder allows groups in any order instead of that of first appearance.
	AnyOrder bool
	// Keys allows GroupBy to give each group's keys in place of its first row:
	// a backend does so where it has them at hand.
	Keys bool
}

// GroupFunc gives the same number to rows whose keys are all equal, counting
// from 0 in order of first appearance. NaNs are equal, -0 equals 0, and nulls
// are equal to each other unless o.DropNullKeys leaves their rows out.
type GroupFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, o GroupOptions) (*Groups, error)

// checkKeys admits a call whose main argument is a list of key columns: one or
// more, of one length, of types that can be compared. values are further
// columns, nil ones among them.
func (b *Backend) checkKeys(ctx context.Context, s device.Stream, call string, have bool, types Types, keys []*memory.Column, values ...*memory.Column) error {
	if len(keys) == 0 {
		return b.fail(device.ErrMismatch, call, "no key columns")
	}
	for i, k := range keys {
		if k == nil {
			return b.fail(device.ErrMismatch, call, "key %d is missing", i)
		}
		if d, ok := k.Type().(*arrow.DictionaryType); ok && (!types.Has(d.ValueType.ID()) || d.ValueType.ID() == arrow.DICTIONARY) {
			return b.lack(call, i, k.Type())
		}
	}
	if err := b.admit(ctx, s, call, have, types, append(slices.Clone(keys), values...)...); err != nil {
		return err
	}
	return b.sameLength(call, keys...)
}

// Group numbers the distinct keys among rows, as GroupFunc says. keys are one or
// more columns of one length (ErrMismatch) and of KeyTypes (ErrUnsupported).
func (b *Backend) Group(ctx context.Context, s device.Stream, keys []*memory.Column, o GroupOptions) (g *Groups, err error) {
	defer b.guard("group", &err)
	if err := b.checkKeys(ctx, s, "group", b.Set.Group.Func != nil, b.Set.Group.Types, keys); err != nil {
		return nil, err
	}
	return b.Set.Group.Func(ctx, s, keys, o)
}
