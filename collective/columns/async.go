package columns

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/memory"
)

// What is started keeps the columns that it was given until it is done.

// AllGatherAsync starts an AllGather.
func (t *Comm) AllGatherAsync(ctx context.Context, types []arrow.DataType, cols []*memory.Column) *Handle[[][]*memory.Column] {
	return start(ctx, t, t.allGather(types, cols))
}

// GatherAsync starts a Gather.
func (t *Comm) GatherAsync(ctx context.Context, types []arrow.DataType, cols []*memory.Column, root int) *Handle[[][]*memory.Column] {
	return start(ctx, t, t.gather(types, cols, root))
}

// ScatterAsync starts a Scatter.
func (t *Comm) ScatterAsync(ctx context.Context, types []arrow.DataType, parts [][]*memory.Column, root int) *Handle[[]*memory.Column] {
	return start(ctx, t, t.scatter(types, parts, root))
}

// AllToAllAsync starts an AllToAll.
func (t *Comm) AllToAllAsync(ctx context.Context, types []arrow.DataType, parts [][]*memory.Column) *Handle[[][]*memory.Column] {
	return start(ctx, t, t.allToAll(types, parts))
}

// BroadcastAsync starts a Broadcast.
func (t *Comm) BroadcastAsync(ctx context.Context, types []arrow.DataType, cols []*memory.Column, root int) *Handle[[]*memory.Column] {
	return start(ctx, t, t.broadcast(types, cols, root))
}

// AllReduceAsync starts an AllReduce.
func (t *Comm) AllReduceAsync(ctx context.Context, types []arrow.DataType, cols []*memory.Column, op collective.Op) *Handle[[]*memory.Column] {
	return start(ctx, t, t.reduction("AllReduce", types, cols, op, 0))
}

// ReduceAsync starts a Reduce.
func (t *Comm) ReduceAsync(ctx context.Context, types []arrow.DataType, cols []*memory.Column, op collective.Op, root int) *Handle[[]*memory.Column] {
	return start(ctx, t, t.reduction("Reduce", types, cols, op, root))
}

// ReduceScatterAsync starts a ReduceScatter.
func (t *Comm) ReduceScatterAsync(ctx context.Context, types []arrow.DataType, cols []*memory.Column, op collective.Op) *Handle[[]*memory.Column] {
	return start(ctx, t, t.reduction("ReduceScatter", types, cols, op, 0))
}
