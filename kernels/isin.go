package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// IsInFunc tells for each value of c whether it is among those of set, of the
// same type. The result has no nulls: a null is found if set holds a null.
type IsInFunc func(ctx context.Context, s device.Stream, c, set *memory.Column) (*memory.Column, error)
