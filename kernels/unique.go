package kernels

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// UniqueFunc gives the first row of each distinct key (IndexType), rising.
type UniqueFunc func(ctx context.Context, s device.Stream, keys []*memory.Column, o GroupOptions) (*memory.Column, error)
