package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// SortKey is one column to order by. Keys go from the most significant on.
type SortKey struct {
	Values     *memory.Column
	Descending bool
	// NullsFirst puts nulls before all values, in either direction; without it
	// they come last. NaNs stand between values and nulls on that same side.
	NullsFirst bool
}

// SortIndicesFunc gives the rows (IndexType) in sorted order. It is stable:
// rows whose keys are equal keep their order. -0 equals 0; NaNs are equal;
// strings go by bytes; false before true.
type SortIndicesFunc func(ctx context.Context, s device.Stream, keys []SortKey) (*memory.Column, error)

// TopKFunc gives the first k rows of SortIndices, fewer if there are fewer.
type TopKFunc func(ctx context.Context, s device.Stream, keys []SortKey, k int64) (*memory.Column, error)
