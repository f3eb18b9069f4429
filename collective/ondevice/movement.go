package ondevice

import (
	"context"
	"fmt"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/nccl"
)

// Broadcast is collective.Comm.Broadcast.
func (d *Comm) Broadcast(ctx context.Context, in, out Vector, root int) error {
	if d.c.Rank() != root {
		in = out
	}
	if err := d.checks("Broadcast", root, in, out); err != nil {
		return err
	}
	if in.Len != out.Len || in.Type != out.Type {
		return mismatch("Broadcast", in, out)
	}
	if d.carries(in, out) {
		what := fmt.Sprintf("Broadcast of %d %s from %d", out.Len, out.Type, root)
		return d.carried(ctx, what, func(ctx context.Context) error {
			return d.direct.Broadcast(ctx, d.stream, nccl.Uint8, in.bytes(0, in.Len), out.bytes(0, out.Len), root)
		})
	}
	return d.staged(ctx, "Broadcast", in, out, d.c.Rank() == root, true, func(i, o collective.Vector) error { return d.c.Broadcast(ctx, i, o, root) })
}

// AllGather is collective.Comm.AllGather.
func (d *Comm) AllGather(ctx context.Context, in, out Vector) error {
	if err := d.blocks("AllGather", in, out, 1, d.c.Size()); err != nil {
		return err
	}
	if d.carries(in, out) {
		return d.carried(ctx, fmt.Sprintf("AllGather of %d %s", in.Len, in.Type), func(ctx context.Context) error {
			return d.direct.AllGather(ctx, d.stream, nccl.Uint8, in.bytes(0, in.Len), out.bytes(0, out.Len))
		})
	}
	return d.staged(ctx, "AllGather", in, out, true, true, func(i, o collective.Vector) error { return d.c.AllGather(ctx, i, o) })
}

// AllToAll is collective.Comm.AllToAll.
func (d *Comm) AllToAll(ctx context.Context, in, out Vector) error {
	size := d.c.Size()
	if err := d.blocks("AllToAll", in, out, size, size); err != nil {
		return err
	}
	if d.carries(in, out) {
		n := in.Len / int64(size)
		var sends, recvs []nccl.Part
		for r := range size {
			sends = append(sends, nccl.Part{Peer: r, Vector: in.bytes(int64(r)*n, n)})
			recvs = append(recvs, nccl.Part{Peer: r, Vector: out.bytes(int64(r)*n, n)})
		}
		return d.exchange(ctx, fmt.Sprintf("AllToAll of %d %s", in.Len, in.Type), sends, recvs)
	}
	return d.staged(ctx, "AllToAll", in, out, true, true, func(i, o collective.Vector) error { return d.c.AllToAll(ctx, i, o) })
}

// Gather is collective.Comm.Gather.
func (d *Comm) Gather(ctx context.Context, in, out Vector, root int) error {
	at := d.c.Rank() == root
	if !at {
		out = in
	}
	if err := d.checks("Gather", root, in, out); err != nil {
		return err
	}
	if at && (out.Len != in.Len*int64(d.c.Size()) || in.Type != out.Type) {
		return mismatch("Gather", in, out)
	}
	if d.carries(in, out) {
		sends := []nccl.Part{{Peer: root, Vector: in.bytes(0, in.Len)}}
		var recvs []nccl.Part
		for r := 0; at && r < d.c.Size(); r++ {
			recvs = append(recvs, nccl.Part{Peer: r, Vector: out.bytes(int64(r)*in.Len, in.Len)})
		}
		return d.exchange(ctx, fmt.Sprintf("Gather of %d %s to %d", in.Len, in.Type, root), sends, recvs)
	}
	return d.staged(ctx, "Gather", in, out, true, at, func(i, o collective.Vector) error { return d.c.Gather(ctx, i, o, root) })
}

// Scatter is collective.Comm.Scatter.
func (d *Comm) Scatter(ctx context.Context, in, out Vector, root int) error {
	at := d.c.Rank() == root
	if !at {
		in = out
	}
	if err := d.checks("Scatter", root, in, out); err != nil {
		return err
	}
	if at && (in.Len != out.Len*int64(d.c.Size()) || in.Type != out.Type) {
		return mismatch("Scatter", in, out)
	}
	if d.carries(in, out) {
		recvs := []nccl.Part{{Peer: root, Vector: out.bytes(0, out.Len)}}
		var sends []nccl.Part
		for r := 0; at && r < d.c.Size(); r++ {
			sends = append(sends, nccl.Part{Peer: r, Vector: in.bytes(int64(r)*out.Len, out.Len)})
		}
		return d.exchange(ctx, fmt.Sprintf("Scatter of %d %s from %d", out.Len, out.Type, root), sends, recvs)
	}
	return d.staged(ctx, "Scatter", in, out, at, true, func(i, o collective.Vector) error { return d.c.Scatter(ctx, i, o, root) })
}

// Send is collective.Comm.Send.
func (d *Comm) Send(ctx context.Context, v Vector, to int) error {
	const call = "Send"
	if err := d.checks(call, to, v); err != nil {
		return err
	}
	if !d.carries(v) {
		return d.staged(ctx, call, v, Vector{}, true, false, func(i, _ collective.Vector) error { return d.c.Send(ctx, i, to) })
	}
	said := []int64{v.Len, int64(v.Type)}
	return d.beside(ctx, call, func() error { return d.c.Send(ctx, collective.Of(said), to) }, func(ctx context.Context) error {
		return d.direct.Exchange(ctx, d.stream, nccl.Uint8, []nccl.Part{{Peer: to, Vector: v.bytes(0, v.Len)}}, nil)
	})
}

// Recv is collective.Comm.Recv.
func (d *Comm) Recv(ctx context.Context, v Vector, from int) error {
	const call = "Recv"
	if err := d.checks(call, from, v); err != nil {
		return err
	}
	if !d.carries(v) {
		return d.staged(ctx, call, Vector{}, v, false, true, func(_, o collective.Vector) error { return d.c.Recv(ctx, o, from) })
	}
	return d.beside(ctx, call, func() error {
		said := make([]int64, 2)
		if err := d.c.Recv(ctx, collective.Of(said), from); err != nil {
			return err
		}
		if n, t := said[0], collective.Type(said[1]); n != v.Len || t != v.Type {
			return d.c.Report(collective.Fault{Cause: collective.Mismatch, Op: call, Ranks: []int{d.c.Rank(), from},
				Text: fmt.Sprintf("rank %d sends %d %s, rank %d receives %d %s", from, n, t, d.c.Rank(), v.Len, v.Type)})
		}
		return nil
	}, func(ctx context.Context) error {
		return d.direct.Exchange(ctx, d.stream, nccl.Uint8, nil, []nccl.Part{{Peer: from, Vector: v.bytes(0, v.Len)}})
	})
}
