package collective

import (
	"context"
	"slices"

	"github.com/volley-go/volley/collective/algorithm"
)

// BarrierAsync starts a Barrier, which is done when all ranks have started or called it.
func (c *Comm) BarrierAsync(ctx context.Context) *Handle {
	r, err := c.request(algorithm.Barrier, Vector{}, Vector{}, Op{}, 0, nil)
	return c.begin(ctx, r, err)
}

// GatherAsync starts a Gather.
func (c *Comm) GatherAsync(ctx context.Context, in, out Vector, root int) *Handle {
	r, err := c.gather(in, out, nil, root)
	return c.begin(ctx, r, err)
}

// GatherVAsync starts a GatherV.
func (c *Comm) GatherVAsync(ctx context.Context, in, out Vector, counts []int64, root int) *Handle {
	r, err := c.gather(in, out, slices.Clone(counts), root)
	return c.begin(ctx, r, err)
}

// ScatterAsync starts a Scatter.
func (c *Comm) ScatterAsync(ctx context.Context, in, out Vector, root int) *Handle {
	r, err := c.scatter(in, out, nil, root)
	return c.begin(ctx, r, err)
}

// ScatterVAsync starts a ScatterV.
func (c *Comm) ScatterVAsync(ctx context.Context, in, out Vector, counts []int64, root int) *Handle {
	r, err := c.scatter(in, out, slices.Clone(counts), root)
	return c.begin(ctx, r, err)
}

// AllGatherVAsync starts an AllGatherV.
func (c *Comm) AllGatherVAsync(ctx context.Context, in, out Vector, counts []int64) *Handle {
	r, err := c.allGather(in, out, slices.Clone(counts))
	return c.begin(ctx, r, err)
}

// ReduceScatterVAsync starts a ReduceScatterV.
func (c *Comm) ReduceScatterVAsync(ctx context.Context, in, out Vector, counts []int64, op Op) *Handle {
	r, err := c.reduceScatter(in, out, op, slices.Clone(counts))
	return c.begin(ctx, r, err)
}

// AllToAllVAsync starts an AllToAllV.
func (c *Comm) AllToAllVAsync(ctx context.Context, in, out Vector, sends, recvs []int64) *Handle {
	r, err := c.allToAllV(in, out, slices.Clone(sends), slices.Clone(recvs))
	return c.begin(ctx, r, err)
}

// SendAsync starts a Send.
func (c *Comm) SendAsync(ctx context.Context, v Vector, to int) *Handle {
	return c.ExchangeAsync(ctx, []Transfer{{Peer: to, Data: v}})
}

// RecvAsync starts a Recv.
func (c *Comm) RecvAsync(ctx context.Context, v Vector, from int) *Handle {
	return c.ExchangeAsync(ctx, []Transfer{{Peer: from, Data: v, Recv: true}})
}

// ExchangeAsync starts an Exchange. What is started on one Comm is done in order, so two
// ranks that send to each other start one Exchange each, not a SendAsync before a RecvAsync.
func (c *Comm) ExchangeAsync(ctx context.Context, group []Transfer) *Handle {
	return c.startAll(ctx, []work{transfers(slices.Clone(group))}, c.checkTransfers(group))
}
