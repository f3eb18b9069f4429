package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// IsInFunc tells for each value of c whether it is among those of set, of the
// same type. The result has no nulls: a null is found if set holds a null.
type IsInFunc func(ctx context.Context, s device.Stream, c, set *memory.Column) (*memory.Column, error)

// IsIn tells for each value of c whether it is among those of set: a bool column
// without nulls, since a null is found where set holds one. NaNs are equal, -0
// equals 0. Types that differ are an ErrMismatch.
func (b *Backend) IsIn(ctx context.Context, s device.Stream, c, set *memory.Column) (mask *memory.Column, err error) {
	const call = "is_in"
	defer b.guard(call, &err)
	for _, k := range []*memory.Column{c, set} {
		if k == nil {
			return nil, b.fail(device.ErrMismatch, call, "the values or the set are missing")
		}
		if err := b.checkKeys(ctx, s, call, b.Set.IsIn.Func != nil, b.Set.IsIn.Types, []*memory.Column{k}); err != nil {
			return nil, err
		}
	}
	if !arrow.TypeEqual(c.Type(), set.Type()) {
		return nil, b.fail(device.ErrMismatch, call, "values of type %s, a set of %s", c.Type(), set.Type())
	}
	return b.Set.IsIn.Func(ctx, s, c, set)
}
