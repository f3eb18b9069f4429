package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// AggregateFunc aggregates values by group: row i of values belongs to group
// ids[i] < n, to none if that is null. The result has n rows. values is nil for
// CountAll. Floats are summed within a group in a shape fixed by data and n.
type AggregateFunc func(ctx context.Context, s device.Stream, op Aggregation, values, ids *memory.Column, n int64, o AggregateOptions) (*memory.Column, error)
