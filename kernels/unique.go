package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// UniqueFunc gives the first row of each distinct key (IndexType), rising.
type UniqueFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, o GroupOptions) (*memory.Column, error)

// Unique gives the first row of each distinct key: see UniqueFunc.
func (b *Backend) Unique(ctx context.Context, s device.Stream, keys []*memory.Column, o GroupOptions) (rows *memory.Column, err error) {
	defer b.guard("unique", &err)
	if err := b.checkKeys(ctx, s, "unique", b.Set.Unique.Func != nil, b.Set.Unique.Types, keys); err != nil {
		return nil, err
	}
	return b.Set.Unique.Func(ctx, s, keys, o)
}
