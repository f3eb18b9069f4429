package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// ReduceFunc reduces a column to a column of one row.
//
// Floats are summed in a fixed shape (pairs within blocks, blocks in order)
// that depends on the length alone; the bound is |error| <= 1e-14 * sum|x| for
// float64 input of up to 1e9 values. Var is by two passes or an equal method
// within 1e-12 relative where the mean is not huge against the spread.
type ReduceFunc func(ctx context.Context, s device.Stream, op Aggregation, c *memory.Column, o AggregateOptions) (*memory.Column, error)
