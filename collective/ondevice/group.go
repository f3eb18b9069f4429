package ondevice

import (
	"context"
	"slices"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/memory"
)

// Group is collective.Group for vectors on devices: operations that are started together.
// No operation of another goroutine comes between them. AllReduces one after another of one
// type and reduction are fused into one while they are short and in the device's memory:
// their vectors are copied side by side there, which spares each of them the way through
// the host; so none of them reads what another writes. Sends and receives are done at once, after the others. All ranks give the same
// operations in the same order; which of them send and receive is as in Exchange. A Group
// is used once, by one goroutine.
type Group struct {
	d          *Comm
	operations []operation
	fused      *fusion // the last operation, where that is an AllReduce
	transfers  []Transfer
	err        error // the first wrong argument
}

// fuseBytes is the longest fused vector: one as long as that is bound by the bytes that it
// moves, and the copies cost more than they save.
const fuseBytes = 256 << 10

// Group begins one.
func (d *Comm) Group() *Group { return &Group{d: d} }

func (g *Group) add(o operation, err error) {
	if err != nil && g.err == nil {
		g.err = err
	}
	g.fused = nil
	g.operations = append(g.operations, o)
}

// AllReduce is Comm.AllReduce as part of the group.
func (g *Group) AllReduce(in, out Vector, op collective.Op) {
	o, err := g.d.allReduce(in, out, op)
	if err == nil && g.fused.takes(in, out, op) {
		g.fused.add(in, out)
		last := &g.operations[len(g.operations)-1]
		last.vectors = append(last.vectors, in, out)
		return
	}
	g.add(o, err)
	if err == nil && !op.User() && !in.host() && !out.host() {
		f := &fusion{op: op}
		f.add(in, out)
		g.operations[len(g.operations)-1].run = func(ctx context.Context) error { return g.d.together(ctx, f) }
		g.fused = f
	}
}

// Reduce is Comm.Reduce as part of the group.
func (g *Group) Reduce(in, out Vector, op collective.Op, root int) {
	g.add(g.d.reduce(in, out, op, root))
}

// ReduceScatter is Comm.ReduceScatter as part of the group.
func (g *Group) ReduceScatter(in, out Vector, op collective.Op) {
	g.add(g.d.reduceScatter(in, out, op))
}

// Broadcast is Comm.Broadcast as part of the group.
func (g *Group) Broadcast(in, out Vector, root int) { g.add(g.d.broadcast(in, out, root)) }

// AllGather is Comm.AllGather as part of the group.
func (g *Group) AllGather(in, out Vector) { g.add(g.d.allGather(in, out)) }

// Gather is Comm.Gather as part of the group.
func (g *Group) Gather(in, out Vector, root int) { g.add(g.d.gather(in, out, root)) }

// Scatter is Comm.Scatter as part of the group.
func (g *Group) Scatter(in, out Vector, root int) { g.add(g.d.scatter(in, out, root)) }

// AllToAll is Comm.AllToAll as part of the group.
func (g *Group) AllToAll(in, out Vector) { g.add(g.d.allToAll(in, out)) }

// AllGatherV is Comm.AllGatherV as part of the group. counts may change when it has returned,
// here and in the other forms with counts.
func (g *Group) AllGatherV(in, out Vector, counts []int64) {
	g.add(g.d.allGatherV(in, out, slices.Clone(counts)))
}

// ReduceScatterV is Comm.ReduceScatterV as part of the group.
func (g *Group) ReduceScatterV(in, out Vector, counts []int64, op collective.Op) {
	g.add(g.d.reduceScatterV(in, out, slices.Clone(counts), op))
}

// GatherV is Comm.GatherV as part of the group.
func (g *Group) GatherV(in, out Vector, counts []int64, root int) {
	g.add(g.d.gatherV(in, out, slices.Clone(counts), root))
}

// ScatterV is Comm.ScatterV as part of the group.
func (g *Group) ScatterV(in, out Vector, counts []int64, root int) {
	g.add(g.d.scatterV(in, out, slices.Clone(counts), root))
}

// AllToAllV is Comm.AllToAllV as part of the group.
func (g *Group) AllToAllV(in, out Vector, sends, recvs []int64) {
	g.add(g.d.allToAllV(in, out, slices.Clone(sends), slices.Clone(recvs)))
}

// Barrier is Comm.Barrier as part of the group: what comes before it in the group is done on
// all ranks when what comes after it begins.
func (g *Group) Barrier() { g.add(g.d.barrier(), nil) }

// Send is Comm.Send as part of the group.
func (g *Group) Send(v Vector, to int) {
	g.transfers = append(g.transfers, Transfer{Peer: to, Data: v})
}

// Recv is Comm.Recv as part of the group.
func (g *Group) Recv(v Vector, from int) {
	g.transfers = append(g.transfers, Transfer{Peer: from, Data: v, Recv: true})
}

// Run does all operations. A wrong argument of any is returned before anything starts.
func (g *Group) Run(ctx context.Context) error { return g.Start(ctx).Wait(context.Background()) }

// Start starts all operations; the Handle is done when the last is, or one has failed.
func (g *Group) Start(ctx context.Context) *Handle {
	operations, err := slices.Clone(g.operations), g.err
	if len(g.transfers) > 0 {
		o, wrong := g.d.exchanges(g.transfers)
		if err == nil {
			err = wrong
		}
		operations = append(operations, o)
	}
	return g.d.begin(ctx, operations, err)
}

// fusion is AllReduces of one type and reduction as one.
type fusion struct {
	op    collective.Op
	parts [][2]Vector // in and out
	bytes int64
}

func (f *fusion) add(in, out Vector) {
	f.parts = append(f.parts, [2]Vector{in, out})
	f.bytes += in.Len * int64(in.Type.Width())
}

func (f *fusion) takes(in, out Vector, op collective.Op) bool {
	return f != nil && !op.User() && op.String() == f.op.String() && f.parts[0][0].Type == in.Type && !in.host() && !out.host() &&
		f.bytes+in.Len*int64(in.Type.Width()) <= fuseBytes
}

// together runs a fusion: alone, a vector is reduced where it lies.
func (d *Comm) together(ctx context.Context, f *fusion) error {
	first := f.parts[0][0]
	if len(f.parts) == 1 {
		return d.reducedToAll(ctx, first, f.parts[0][1], f.op)
	}
	w := int64(first.Type.Width())
	all := Vector{Type: first.Type, Len: f.bytes / w}
	var err error
	if all.Buffer, err = memory.New(d.b.Device.Memory(), f.bytes); err != nil {
		return d.fail(err)
	}
	defer all.Buffer.Release()
	// side copies every part to its place among all, or from there.
	side := func(i int, move func(v Vector, at int64) error) error {
		at := int64(0)
		for _, p := range f.parts {
			if err := move(p[i], at); err != nil {
				return d.fail(err)
			}
			at += p[i].Len * w
		}
		return nil
	}
	if err := side(0, func(v Vector, at int64) error {
		return d.stream.Copy(all.Buffer, at, v.Buffer, v.Offset*w, v.Len*w)
	}); err != nil {
		return err
	}
	if err := d.reducedToAll(ctx, all, all, f.op); err != nil {
		return err
	}
	if err := side(1, func(v Vector, at int64) error {
		return d.stream.Copy(v.Buffer, v.Offset*w, all.Buffer, at, v.Len*w)
	}); err != nil {
		return err
	}
	return d.finish(ctx, nil)
}
