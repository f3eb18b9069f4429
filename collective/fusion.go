package collective

import (
	"context"
	"slices"

	"github.com/volley-go/volley/collective/algorithm"
)

// pair is the two vectors of an AllReduce.
type pair struct{ in, out Vector }

// fusion is several AllReduces of one type and reduction as one operation: their
// vectors side by side. Alone, a vector is reduced where it lies.
type fusion struct {
	parts  []pair
	bytes  int64 // of all parts
	reduce Op
	scale  float32 // of float32 vectors, before they are reduced; 0 is 1
}

func (f *fusion) op() algorithm.Op { return algorithm.AllReduce }

func (f *fusion) run(c *Comm) error {
	in, out := f.parts[0].in, f.parts[0].out
	alone := len(f.parts) == 1
	if !alone {
		in = c.pack(f.parts, f.bytes)
		out = in
	} else if f.scale != 0 {
		copy(out.bytes, in.bytes)
		in = out
	}
	if f.scale != 0 {
		v := as[float32](in.bytes)
		for i := range v {
			v[i] *= f.scale
		}
	}
	r, err := c.allReduce(in, out, f.reduce)
	if err == nil {
		err = r.run(c)
	}
	if err != nil || alone {
		return err
	}
	at := 0
	for _, p := range f.parts {
		at += copy(p.out.bytes, out.bytes[at:])
	}
	return nil
}

// pack lays vectors side by side in memory that the Comm keeps.
func (c *Comm) pack(parts []pair, bytes int64) Vector {
	if int64(cap(c.packed)) < bytes {
		c.packed = make([]byte, bytes)
	}
	all := c.packed[:bytes]
	at := 0
	for _, p := range parts {
		at += copy(all[at:], p.in.bytes)
	}
	return Vector{parts[0].in.typ, all}
}

// join puts AllReduces together that can be one operation of at most so many bytes, in
// their order.
func join(works []work, next pair, reduce Op, bytes int64) []work {
	if n := len(works); n > 0 {
		last, ok := works[n-1].(*fusion)
		if ok && last.takes(next, reduce, bytes) {
			last.parts = append(last.parts, next)
			last.bytes += int64(len(next.in.bytes))
			return works
		}
	}
	return append(works, &fusion{parts: []pair{next}, bytes: int64(len(next.in.bytes)), reduce: reduce})
}

func (f *fusion) takes(next pair, reduce Op, bytes int64) bool {
	same := f.parts[0].in.typ == next.in.typ && f.reduce.code == reduce.code && !isUser(reduce.code)
	return same && f.bytes+int64(len(next.in.bytes)) <= bytes
}

// Group is operations that are started together. No operation of another goroutine
// comes between them, AllReduces one after another of one type and reduction are fused
// into one while they are short, and sends and receives are done at once, after the
// others. All ranks give the same collective operations in the same order; which of
// them send and receive is as in Exchange. A Group is used once, by one goroutine.
type Group struct {
	c         *Comm
	works     []work
	transfers transfers
	err       error // the first wrong argument
}

// fuseBytes is the longest fused vector where nobody says otherwise: longer ones are
// bound by the bytes they move, and the copies that fusing needs cost more than it saves.
const fuseBytes = 256 << 10

// Group begins one.
func (c *Comm) Group() *Group { return &Group{c: c} }

func (g *Group) add(r *request, err error) {
	if err != nil {
		if g.err == nil {
			g.err = err
		}
		return
	}
	g.works = append(g.works, r)
}

// AllReduce is Comm.AllReduce as part of the group.
func (g *Group) AllReduce(in, out Vector, op Op) {
	if _, err := g.c.allReduce(in, out, op); err != nil {
		g.add(nil, err)
		return
	}
	g.works = join(g.works, pair{in, out}, op, fuseBytes)
}

// Broadcast is Comm.Broadcast as part of the group.
func (g *Group) Broadcast(in, out Vector, root int) { g.add(g.c.broadcast(in, out, root)) }

// Reduce is Comm.Reduce as part of the group.
func (g *Group) Reduce(in, out Vector, op Op, root int) { g.add(g.c.reduce(in, out, op, root)) }

// AllGather is Comm.AllGather as part of the group.
func (g *Group) AllGather(in, out Vector) { g.add(g.c.allGather(in, out, nil)) }

// ReduceScatter is Comm.ReduceScatter as part of the group.
func (g *Group) ReduceScatter(in, out Vector, op Op) { g.add(g.c.reduceScatter(in, out, op, nil)) }

// Gather is Comm.Gather as part of the group.
func (g *Group) Gather(in, out Vector, root int) { g.add(g.c.gather(in, out, nil, root)) }

// Scatter is Comm.Scatter as part of the group.
func (g *Group) Scatter(in, out Vector, root int) { g.add(g.c.scatter(in, out, nil, root)) }

// AllToAll is Comm.AllToAll as part of the group.
func (g *Group) AllToAll(in, out Vector) { g.add(g.c.allToAll(in, out, nil, nil)) }

// AllGatherV is Comm.AllGatherV as part of the group. counts may change when it has returned,
// here and in the other forms with counts.
func (g *Group) AllGatherV(in, out Vector, counts []int64) {
	g.add(g.c.allGather(in, out, slices.Clone(counts)))
}

// ReduceScatterV is Comm.ReduceScatterV as part of the group.
func (g *Group) ReduceScatterV(in, out Vector, counts []int64, op Op) {
	g.add(g.c.reduceScatter(in, out, op, slices.Clone(counts)))
}

// GatherV is Comm.GatherV as part of the group.
func (g *Group) GatherV(in, out Vector, counts []int64, root int) {
	g.add(g.c.gather(in, out, slices.Clone(counts), root))
}

// ScatterV is Comm.ScatterV as part of the group.
func (g *Group) ScatterV(in, out Vector, counts []int64, root int) {
	g.add(g.c.scatter(in, out, slices.Clone(counts), root))
}

// AllToAllV is Comm.AllToAllV as part of the group.
func (g *Group) AllToAllV(in, out Vector, sends, recvs []int64) {
	g.add(g.c.allToAllV(in, out, slices.Clone(sends), slices.Clone(recvs)))
}

// Barrier is Comm.Barrier as part of the group: what comes before it in the group is done on
// all ranks when what comes after it begins.
func (g *Group) Barrier() { g.add(g.c.request(algorithm.Barrier, Vector{}, Vector{}, Op{}, 0, nil)) }

// Send is Comm.Send as part of the group.
func (g *Group) Send(v Vector, to int) { g.transfer(Transfer{Peer: to, Data: v}) }

// Recv is Comm.Recv as part of the group.
func (g *Group) Recv(v Vector, from int) { g.transfer(Transfer{Peer: from, Data: v, Recv: true}) }

func (g *Group) transfer(t Transfer) {
	g.transfers = append(g.transfers, t)
	if err := g.c.checkTransfers(g.transfers[len(g.transfers)-1:]); err != nil && g.err == nil {
		g.err = err
	}
}

// Run does all operations. A wrong argument of any is returned before anything starts.
func (g *Group) Run(ctx context.Context) error { return g.Start(ctx).Wait(context.Background()) }

// Start starts all operations; the Handle is done when the last is.
func (g *Group) Start(ctx context.Context) *Handle {
	works := slices.Clone(g.works)
	if len(g.transfers) > 0 {
		works = append(works, g.transfers)
	}
	return g.c.startAll(ctx, works, g.err)
}

// startAll starts works one after another; the first error is the Handle's.
func (c *Comm) startAll(ctx context.Context, works []work, err error) *Handle {
	h := &Handle{done: make(chan struct{}), err: err}
	if err != nil || len(works) == 0 {
		close(h.done)
		return h
	}
	ticket := c.turns.takeAll(len(works))
	go func() {
		defer close(h.done)
		at := 0
		defer func() { // a reduction may have ended the goroutine
			for at++; at < len(works); at++ {
				h.err = errEnded
				c.turns.wait(context.Background(), ticket+uint64(at), nil)
				c.turns.done()
			}
		}()
		var first error
		for ; at < len(works); at++ {
			h.err = errEnded // should nobody return
			if err := c.turn(ctx, ticket+uint64(at), works[at]); first == nil {
				first = err
			}
		}
		h.err = first
	}()
	return h
}
