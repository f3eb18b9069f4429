package ondevice

import (
	"context"
	"slices"

	"github.com/volley-go/volley/collective"
)

// BarrierAsync starts a Barrier, which is done when all ranks have started or called it.
func (d *Comm) BarrierAsync(ctx context.Context) *Handle { return d.start(ctx, d.barrier(), nil) }

// AllReduceAsync starts an AllReduce.
func (d *Comm) AllReduceAsync(ctx context.Context, in, out Vector, op collective.Op) *Handle {
	o, err := d.allReduce(in, out, op)
	return d.start(ctx, o, err)
}

// ReduceAsync starts a Reduce.
func (d *Comm) ReduceAsync(ctx context.Context, in, out Vector, op collective.Op, root int) *Handle {
	o, err := d.reduce(in, out, op, root)
	return d.start(ctx, o, err)
}

// ReduceScatterAsync starts a ReduceScatter.
func (d *Comm) ReduceScatterAsync(ctx context.Context, in, out Vector, op collective.Op) *Handle {
	o, err := d.reduceScatter(in, out, op)
	return d.start(ctx, o, err)
}

// ReduceScatterVAsync starts a ReduceScatterV. counts may change when it has returned, here
// and in the other forms with counts.
func (d *Comm) ReduceScatterVAsync(ctx context.Context, in, out Vector, counts []int64, op collective.Op) *Handle {
	o, err := d.reduceScatterV(in, out, slices.Clone(counts), op)
	return d.start(ctx, o, err)
}

// BroadcastAsync starts a Broadcast.
func (d *Comm) BroadcastAsync(ctx context.Context, in, out Vector, root int) *Handle {
	o, err := d.broadcast(in, out, root)
	return d.start(ctx, o, err)
}

// AllGatherAsync starts an AllGather.
func (d *Comm) AllGatherAsync(ctx context.Context, in, out Vector) *Handle {
	o, err := d.allGather(in, out)
	return d.start(ctx, o, err)
}

// AllGatherVAsync starts an AllGatherV.
func (d *Comm) AllGatherVAsync(ctx context.Context, in, out Vector, counts []int64) *Handle {
	o, err := d.allGatherV(in, out, slices.Clone(counts))
	return d.start(ctx, o, err)
}

// GatherAsync starts a Gather.
func (d *Comm) GatherAsync(ctx context.Context, in, out Vector, root int) *Handle {
	o, err := d.gather(in, out, root)
	return d.start(ctx, o, err)
}

// GatherVAsync starts a GatherV.
func (d *Comm) GatherVAsync(ctx context.Context, in, out Vector, counts []int64, root int) *Handle {
	o, err := d.gatherV(in, out, slices.Clone(counts), root)
	return d.start(ctx, o, err)
}

// ScatterAsync starts a Scatter.
func (d *Comm) ScatterAsync(ctx context.Context, in, out Vector, root int) *Handle {
	o, err := d.scatter(in, out, root)
	return d.start(ctx, o, err)
}

// ScatterVAsync starts a ScatterV.
func (d *Comm) ScatterVAsync(ctx context.Context, in, out Vector, counts []int64, root int) *Handle {
	o, err := d.scatterV(in, out, slices.Clone(counts), root)
	return d.start(ctx, o, err)
}

// AllToAllAsync starts an AllToAll.
func (d *Comm) AllToAllAsync(ctx context.Context, in, out Vector) *Handle {
	o, err := d.allToAll(in, out)
	return d.start(ctx, o, err)
}

// AllToAllVAsync starts an AllToAllV.
func (d *Comm) AllToAllVAsync(ctx context.Context, in, out Vector, sends, recvs []int64) *Handle {
	o, err := d.allToAllV(in, out, slices.Clone(sends), slices.Clone(recvs))
	return d.start(ctx, o, err)
}

// SendAsync starts a Send.
func (d *Comm) SendAsync(ctx context.Context, v Vector, to int) *Handle {
	return d.ExchangeAsync(ctx, []Transfer{{Peer: to, Data: v}})
}

// RecvAsync starts a Recv.
func (d *Comm) RecvAsync(ctx context.Context, v Vector, from int) *Handle {
	return d.ExchangeAsync(ctx, []Transfer{{Peer: from, Data: v, Recv: true}})
}

// ExchangeAsync starts an Exchange. What is started on one Comm is done in order, so two
// ranks that send to each other start one Exchange each, not a SendAsync before a RecvAsync.
func (d *Comm) ExchangeAsync(ctx context.Context, group []Transfer) *Handle {
	o, err := d.exchanges(slices.Clone(group))
	return d.start(ctx, o, err)
}
