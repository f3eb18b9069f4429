package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// TopKFunc gives the first k rows of SortIndices, fewer if there are fewer, in
// the same order and type.
type TopKFunc func(ctx context.Context, s device.Stream, keys []SortKey, k int64) (*memory.Column, error)

// TopK checks its arguments as SortIndices does and runs the set's TopK. A
// negative k is an ErrMismatch.
func (b *Backend) TopK(ctx context.Context, s device.Stream, keys []SortKey, k int64) (rows *memory.Column, err error) {
	const call = "top_k"
	defer b.guard(call, &err)
	e := b.Set.TopK
	if err := b.admitKeys(ctx, s, call, e.Func != nil, e.Types, keys); err != nil {
		return nil, err
	}
	if k < 0 {
		return nil, b.fail(device.ErrMismatch, call, "the first %d rows", k)
	}
	return e.Func(ctx, s, keys, min(k, keys[0].Values.Len()))
}
