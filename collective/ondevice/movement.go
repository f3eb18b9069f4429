package ondevice

import (
	"context"
	"fmt"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/nccl"
)

// Barrier is collective.Comm.Barrier, after the operations that this Comm has under way.
func (d *Comm) Barrier(ctx context.Context) error { return d.do(ctx, d.barrier(), nil) }

func (d *Comm) barrier() operation {
	return operation{call: "Barrier", run: d.c.Barrier}
}

// Broadcast is collective.Comm.Broadcast.
func (d *Comm) Broadcast(ctx context.Context, in, out Vector, root int) error {
	o, err := d.broadcast(in, out, root)
	return d.do(ctx, o, err)
}

func (d *Comm) broadcast(in, out Vector, root int) (operation, error) {
	const call = "Broadcast"
	at := d.c.Rank() == root
	if !at {
		in = out
	}
	o := operation{call: call, vectors: []Vector{in, out}}
	if err := d.checks(call, root, in, out); err != nil {
		return o, err
	}
	if in.Len != out.Len || in.Type != out.Type {
		return o, mismatch(call, in, out)
	}
	o.run = func(ctx context.Context) error {
		if d.carries(in, out) {
			what := fmt.Sprintf("%s of %d %s from %d", call, out.Len, out.Type, root)
			return d.carried(ctx, what, func(ctx context.Context) error {
				return d.direct.Broadcast(ctx, d.stream, nccl.Uint8, in.bytes(0, in.Len), out.bytes(0, out.Len), root)
			})
		}
		return d.staged(ctx, in, out, at, true, func(i, o collective.Vector) error { return d.c.Broadcast(ctx, i, o, root) })
	}
	return o, nil
}

// AllGather is collective.Comm.AllGather.
func (d *Comm) AllGather(ctx context.Context, in, out Vector) error {
	o, err := d.allGather(in, out)
	return d.do(ctx, o, err)
}

func (d *Comm) allGather(in, out Vector) (operation, error) {
	const call = "AllGather"
	o := operation{call: call, vectors: []Vector{in, out}}
	if err := d.blocks(call, in, out, 1, d.c.Size()); err != nil {
		return o, err
	}
	o.run = func(ctx context.Context) error {
		if d.carries(in, out) {
			return d.carried(ctx, fmt.Sprintf("%s of %d %s", call, in.Len, in.Type), func(ctx context.Context) error {
				return d.direct.AllGather(ctx, d.stream, nccl.Uint8, in.bytes(0, in.Len), out.bytes(0, out.Len))
			})
		}
		return d.staged(ctx, in, out, true, true, func(i, o collective.Vector) error { return d.c.AllGather(ctx, i, o) })
	}
	return o, nil
}

// AllToAll is collective.Comm.AllToAll.
func (d *Comm) AllToAll(ctx context.Context, in, out Vector) error {
	o, err := d.allToAll(in, out)
	return d.do(ctx, o, err)
}

func (d *Comm) allToAll(in, out Vector) (operation, error) {
	const call = "AllToAll"
	size := d.c.Size()
	o := operation{call: call, vectors: []Vector{in, out}}
	if err := d.blocks(call, in, out, size, size); err != nil {
		return o, err
	}
	o.run = func(ctx context.Context) error {
		if d.carries(in, out) {
			n := d.equal(in.Len / int64(size))
			return d.exchange(ctx, fmt.Sprintf("%s of %d %s", call, in.Len, in.Type), d.every(in, n), d.every(out, n))
		}
		return d.staged(ctx, in, out, true, true, func(i, o collective.Vector) error { return d.c.AllToAll(ctx, i, o) })
	}
	return o, nil
}

// Gather is collective.Comm.Gather.
func (d *Comm) Gather(ctx context.Context, in, out Vector, root int) error {
	o, err := d.gather(in, out, root)
	return d.do(ctx, o, err)
}

func (d *Comm) gather(in, out Vector, root int) (operation, error) {
	const call = "Gather"
	at := d.c.Rank() == root
	if !at {
		out = in
	}
	o := operation{call: call, vectors: []Vector{in, out}}
	if err := d.checks(call, root, in, out); err != nil {
		return o, err
	}
	if at && (out.Len != in.Len*int64(d.c.Size()) || in.Type != out.Type) {
		return o, mismatch(call, in, out)
	}
	o.run = func(ctx context.Context) error {
		if d.carries(in, out) {
			var recvs []nccl.Part
			if at {
				recvs = d.every(out, d.equal(in.Len))
			}
			return d.exchange(ctx, fmt.Sprintf("%s of %d %s to %d", call, in.Len, in.Type, root), []nccl.Part{{Peer: root, Vector: in.bytes(0, in.Len)}}, recvs)
		}
		return d.staged(ctx, in, out, true, at, func(i, o collective.Vector) error { return d.c.Gather(ctx, i, o, root) })
	}
	return o, nil
}

// Scatter is collective.Comm.Scatter.
func (d *Comm) Scatter(ctx context.Context, in, out Vector, root int) error {
	o, err := d.scatter(in, out, root)
	return d.do(ctx, o, err)
}

func (d *Comm) scatter(in, out Vector, root int) (operation, error) {
	const call = "Scatter"
	at := d.c.Rank() == root
	if !at {
		in = out
	}
	o := operation{call: call, vectors: []Vector{in, out}}
	if err := d.checks(call, root, in, out); err != nil {
		return o, err
	}
	if at && (in.Len != out.Len*int64(d.c.Size()) || in.Type != out.Type) {
		return o, mismatch(call, in, out)
	}
	o.run = func(ctx context.Context) error {
		if d.carries(in, out) {
			var sends []nccl.Part
			if at {
				sends = d.every(in, d.equal(out.Len))
			}
			return d.exchange(ctx, fmt.Sprintf("%s of %d %s from %d", call, out.Len, out.Type, root), sends, []nccl.Part{{Peer: root, Vector: out.bytes(0, out.Len)}})
		}
		return d.staged(ctx, in, out, at, true, func(i, o collective.Vector) error { return d.c.Scatter(ctx, i, o, root) })
	}
	return o, nil
}

// equal is the same count for every rank.
func (d *Comm) equal(n int64) []int64 {
	counts := make([]int64, d.c.Size())
	for r := range counts {
		counts[r] = n
	}
	return counts
}
