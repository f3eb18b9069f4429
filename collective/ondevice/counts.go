package ondevice

import (
	"context"
	"fmt"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/transport/nccl"
	"github.com/volley-go/volley/device"
)

// AllGatherV is collective.Comm.AllGatherV: an AllGather in which rank r gives counts[r]
// elements. The counts are the same on all ranks, here and in GatherV and ScatterV.
func (d *Comm) AllGatherV(ctx context.Context, in, out Vector, counts []int64) error {
	o, err := d.allGatherV(in, out, counts)
	return d.do(ctx, o, err)
}

func (d *Comm) allGatherV(in, out Vector, counts []int64) (operation, error) {
	const call = "AllGatherV"
	o := operation{call: call, vectors: []Vector{in, out}}
	if err := d.sized(call, in, out, counts, true); err != nil {
		return o, err
	}
	o.run = func(ctx context.Context) error {
		if d.carries(in, out) {
			parts := d.every(out, counts)
			return d.exchange(ctx, fmt.Sprintf("%s of %s, %v", call, in.Type, counts), d.toAll(in), parts)
		}
		return d.staged(ctx, in, out, true, true, func(i, o collective.Vector) error { return d.c.AllGatherV(ctx, i, o, counts) })
	}
	return o, nil
}

// GatherV is collective.Comm.GatherV: a Gather in which rank r gives counts[r] elements.
func (d *Comm) GatherV(ctx context.Context, in, out Vector, counts []int64, root int) error {
	o, err := d.gatherV(in, out, counts, root)
	return d.do(ctx, o, err)
}

func (d *Comm) gatherV(in, out Vector, counts []int64, root int) (operation, error) {
	const call = "GatherV"
	at := d.c.Rank() == root
	if !at {
		out = in
	}
	o := operation{call: call, vectors: []Vector{in, out}}
	if err := d.checks(call, root); err != nil {
		return o, err
	}
	if err := d.sized(call, in, out, counts, at); err != nil {
		return o, err
	}
	o.run = func(ctx context.Context) error {
		if d.carries(in, out) {
			sends := []nccl.Part{{Peer: root, Vector: in.bytes(0, in.Len)}}
			var recvs []nccl.Part
			if at {
				recvs = d.every(out, counts)
			}
			return d.exchange(ctx, fmt.Sprintf("%s of %s to %d, %v", call, in.Type, root, counts), sends, recvs)
		}
		return d.staged(ctx, in, out, true, at, func(i, o collective.Vector) error { return d.c.GatherV(ctx, i, o, counts, root) })
	}
	return o, nil
}

// ScatterV is collective.Comm.ScatterV: a Scatter whose block for rank r has counts[r]
// elements.
func (d *Comm) ScatterV(ctx context.Context, in, out Vector, counts []int64, root int) error {
	o, err := d.scatterV(in, out, counts, root)
	return d.do(ctx, o, err)
}

func (d *Comm) scatterV(in, out Vector, counts []int64, root int) (operation, error) {
	const call = "ScatterV"
	at := d.c.Rank() == root
	if !at {
		in = out
	}
	o := operation{call: call, vectors: []Vector{in, out}}
	if err := d.checks(call, root); err != nil {
		return o, err
	}
	if err := d.sized(call, out, in, counts, at); err != nil {
		return o, err
	}
	o.run = func(ctx context.Context) error {
		if d.carries(in, out) {
			recvs := []nccl.Part{{Peer: root, Vector: out.bytes(0, out.Len)}}
			var sends []nccl.Part
			if at {
				sends = d.every(in, counts)
			}
			return d.exchange(ctx, fmt.Sprintf("%s of %s from %d, %v", call, out.Type, root, counts), sends, recvs)
		}
		return d.staged(ctx, in, out, at, true, func(i, o collective.Vector) error { return d.c.ScatterV(ctx, i, o, counts, root) })
	}
	return o, nil
}

// AllToAllV is collective.Comm.AllToAllV: sends[r] elements go to rank r and recvs[r] come
// from it, which are that rank's sends for this one. in and out do not overlap.
func (d *Comm) AllToAllV(ctx context.Context, in, out Vector, sends, recvs []int64) error {
	o, err := d.allToAllV(in, out, sends, recvs)
	return d.do(ctx, o, err)
}

func (d *Comm) allToAllV(in, out Vector, sends, recvs []int64) (operation, error) {
	const call = "AllToAllV"
	o := operation{call: call, vectors: []Vector{in, out}}
	if err := d.checks(call, 0, in, out); err != nil {
		return o, err
	}
	if in.Type != out.Type {
		return o, mismatch(call, in, out)
	}
	if err := d.total(call, in, sends); err != nil {
		return o, err
	}
	if err := d.total(call, out, recvs); err != nil {
		return o, err
	}
	o.run = func(ctx context.Context) error {
		if !d.carries(in, out) {
			return d.staged(ctx, in, out, true, true, func(i, o collective.Vector) error { return d.c.AllToAllV(ctx, i, o, sends, recvs) })
		}
		return d.beside(ctx, fmt.Sprintf("%s of %s", call, in.Type), func() error { return d.announce(ctx, call, in.Type, sends, recvs) },
			func(ctx context.Context) error {
				return d.direct.Comm.Exchange(ctx, d.stream, nccl.Uint8, d.every(in, sends), d.every(out, recvs))
			})
	}
	return o, nil
}

// announce tells every rank what it will be sent, and compares what comes with what is
// expected.
func (d *Comm) announce(ctx context.Context, call string, t collective.Type, sends, recvs []int64) error {
	if err := d.c.Agree(ctx, fmt.Sprintf("%s of %s", call, t)); err != nil {
		return err
	}
	theirs := make([]int64, len(sends))
	if err := d.c.AllToAll(ctx, collective.Of(sends), collective.Of(theirs)); err != nil {
		return err
	}
	for r, n := range theirs {
		if n != recvs[r] {
			return d.c.Report(collective.Fault{Cause: collective.Mismatch, Op: call, Ranks: []int{d.c.Rank(), r},
				Text: fmt.Sprintf("rank %d sends %d elements, rank %d receives %d", r, n, d.c.Rank(), recvs[r])})
		}
	}
	// Who found nothing wrong does not begin where another has.
	return d.c.Barrier(ctx)
}

// sized holds vectors against counts: part has this rank's elements, whole those of all,
// where the rank has it.
func (d *Comm) sized(call string, part, whole Vector, counts []int64, has bool) error {
	if err := d.checks(call, 0, part, whole); err != nil {
		return err
	}
	if part.Type != whole.Type {
		return mismatch(call, part, whole)
	}
	if err := d.counted(call, counts); err != nil {
		return err
	}
	if want := counts[d.c.Rank()]; part.Len != want {
		return device.Errorf(device.ErrMismatch, "", call, "rank %d has %d elements, must have %d", d.c.Rank(), part.Len, want)
	}
	if !has {
		return nil
	}
	return d.total(call, whole, counts)
}

// counted looks at counts by themselves.
func (d *Comm) counted(call string, counts []int64) error {
	if len(counts) != d.c.Size() {
		return device.Errorf(device.ErrMismatch, "", call, "%d counts for %d ranks", len(counts), d.c.Size())
	}
	for r, n := range counts {
		if n < 0 {
			return device.Errorf(device.ErrMismatch, "", call, "the count of rank %d is %d", r, n)
		}
	}
	return nil
}

// total holds counts against the vector that has all of them.
func (d *Comm) total(call string, v Vector, counts []int64) error {
	if err := d.counted(call, counts); err != nil {
		return err
	}
	left := v.Len
	for _, n := range counts {
		if n > left {
			left = -1 // not subtracted: a sum of counts may be no int64
			break
		}
		left -= n
	}
	if left != 0 {
		return device.Errorf(device.ErrMismatch, "", call, "the counts %v are not those of %d elements", counts, v.Len)
	}
	return nil
}

// every is a vector's parts for, or of, all ranks.
func (d *Comm) every(v Vector, counts []int64) []nccl.Part {
	parts, at := make([]nccl.Part, len(counts)), int64(0)
	for r, n := range counts {
		parts[r] = nccl.Part{Peer: r, Vector: v.bytes(at, n)}
		at += n
	}
	return parts
}

// toAll is a vector for every rank.
func (d *Comm) toAll(v Vector) []nccl.Part {
	parts := make([]nccl.Part, d.c.Size())
	for r := range parts {
		parts[r] = nccl.Part{Peer: r, Vector: v.bytes(0, v.Len)}
	}
	return parts
}
