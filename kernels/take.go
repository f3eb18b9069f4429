package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// TakeOptions tune Take.
type TakeOptions struct {
	// Trusted says that every index is in range, so that a backend may leave
	// the check out.
	Trusted bool
}

// TakeFunc gathers c[indices[i]] for each i. indices is of any integer type; a
// null index gives a null; one out of range is an ErrValue that names the
// position and the index.
type TakeFunc func(ctx context.Context, s device.Stream, c, indices *memory.Column, o TakeOptions) (*memory.Column, error)

// Take gathers c[indices[i]] for each i: a column of c's type, any type, and of
// the length of indices. indices is of any integer type. A null index gives a
// null, whatever lies under it; an index out of range is an ErrValue that names
// the first position and its index. utf8, binary and list results of more than
// 2^31-1 bytes or items are an ErrValue that says to cast to the large type.
func (b *Backend) Take(ctx context.Context, s device.Stream, c, indices *memory.Column, o TakeOptions) (_ *memory.Column, err error) {
	const call = "take"
	defer b.guard(call, &err)
	if isHalf(c) {
		return movedOne([]*memory.Column{c}, func(w []*memory.Column) (*memory.Column, error) { return b.Take(ctx, s, w[0], indices, o) })
	}
	entry := &b.Set.Take
	if err := b.admit(ctx, s, call, entry.Func != nil, entry.Types, c); err != nil {
		return nil, err
	}
	if !IntegerTypes.Has(indices.Type().ID()) {
		return nil, b.fail(device.ErrMismatch, call, "the indices are of type %s, not integers", indices.Type())
	}
	if err := b.admit(ctx, s, call, true, IntegerTypes, indices); err != nil {
		return nil, err
	}
	return entry.Func(ctx, s, c, indices, o)
}
