package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// UniqueFunc gives the first row of each distinct key (IndexType): rising, unless
// o.AnyOrder. Nulls are equal to each other, or left out by o.DropNullKeys; NaNs
// are equal, -0 equals 0.
type UniqueFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, o GroupOptions) (*memory.Column, error)

// Unique gives the first row of each distinct key, as UniqueFunc says. keys are
// one or more columns of one length (ErrMismatch); Take with the result gives
// the distinct keys themselves.
func (b *Backend) Unique(ctx context.Context, s device.Stream, keys []*memory.Column, o GroupOptions) (rows *memory.Column, err error) {
	defer b.guard("unique", &err)
	if err := b.checkKeys(ctx, s, "unique", b.Set.Unique.Func != nil, b.Set.Unique.Types, keys); err != nil {
		return nil, err
	}
	return b.Set.Unique.Func(ctx, s, keys, o)
}
