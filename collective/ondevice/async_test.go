package ondevice

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/volley-go/volley/collective"
)

// trial is the vectors of some operations and what must come of them.
type trial struct {
	d        *Comm
	failed   error
	given    []Vector
	expected []expected
}

type expected struct {
	out  Vector
	want []int64
	only int // the rank that has it, or -1
}

func (t *trial) in(values ...int64) Vector {
	v, err := put(t.d, values)
	t.failed = errors.Join(t.failed, err)
	t.given = append(t.given, v)
	return v
}

func (t *trial) out(only int, want ...int64) Vector {
	v, err := put(t.d, make([]int64, len(want)))
	t.failed = errors.Join(t.failed, err)
	t.expected = append(t.expected, expected{v, want, only})
	return v
}

// check compares all that was expected, and gives all vectors back.
func (t *trial) check() error {
	for _, v := range t.given {
		v.Buffer.Release()
	}
	for i, e := range t.expected {
		values, err := take[int64](t.d, e.out)
		if err != nil || (e.only < 0 || e.only == t.d.c.Rank()) && !slices.Equal(values, e.want) {
			return fmt.Errorf("result %d is %v, want %v, %w", i, values, e.want, err)
		}
	}
	return t.failed
}

// started runs the forms with counts, then every form that is started, in one order on all
// ranks. Rank r gives r elements of r, and sends r+q of 100r+q to rank q; its own vector is
// 10r+q for every q.
func started(d *Comm, c *collective.Comm) error {
	ctx, size, me := context.Background(), c.Size(), int64(c.Rank())
	next, prev, last := (c.Rank()+1)%size, (c.Rank()+size-1)%size, size-1
	t := &trial{d: d}
	counts, sends, recvs := make([]int64, size), make([]int64, size), make([]int64, size)
	var unequal, sent, got, each, own, summed, blocks []int64
	for r := range int64(size) {
		counts[r], sends[r], recvs[r] = r, me+r, r+me
		unequal = append(unequal, slices.Repeat([]int64{r}, int(r))...)
		sent = append(sent, slices.Repeat([]int64{100*me + r}, int(me+r))...)
		got = append(got, slices.Repeat([]int64{100*r + me}, int(r+me))...)
		own = append(own, 10*me+r)
		each = append(each, 10*r+me)
		summed = append(summed, int64(size)*r+5*int64(size*(size-1)))
		for q := range int64(size) {
			blocks = append(blocks, 10*r+q)
		}
	}
	part := t.in(slices.Repeat([]int64{me}, int(me))...)
	whole, mine, everybodys := t.in(unequal...), t.in(own...), t.in(blocks...)
	block := unequal[me*(me-1)/2 : me*(me+1)/2]
	total := slices.Repeat([]int64{int64(size) * me}, int(me))
	if err := errors.Join(
		d.AllGatherV(ctx, part, t.out(-1, unequal...), counts),
		d.GatherV(ctx, part, t.out(last, unequal...), counts, last),
		d.ScatterV(ctx, whole, t.out(-1, block...), counts, 0),
		d.AllToAllV(ctx, t.in(sent...), t.out(-1, got...), sends, recvs),
		d.ReduceScatterV(ctx, whole, t.out(-1, total...), counts, collective.Sum),
		d.Barrier(ctx)); err != nil {
		return err
	}
	var handles []*Handle
	add := func(h *Handle) { handles = append(handles, h) }
	add(d.AllGatherVAsync(ctx, part, t.out(-1, unequal...), counts))
	add(d.GatherVAsync(ctx, part, t.out(0, unequal...), counts, 0))
	add(d.ScatterVAsync(ctx, whole, t.out(-1, block...), counts, last))
	add(d.AllToAllVAsync(ctx, t.in(sent...), t.out(-1, got...), sends, recvs))
	add(d.ReduceScatterVAsync(ctx, whole, t.out(-1, total...), counts, collective.Sum))
	g := d.Group()
	g.AllGatherV(part, t.out(-1, unequal...), counts)
	g.GatherV(part, t.out(last, unequal...), counts, last)
	g.Barrier()
	g.ScatterV(whole, t.out(-1, block...), counts, 0)
	g.AllToAllV(t.in(sent...), t.out(-1, got...), sends, recvs)
	g.ReduceScatterV(whole, t.out(-1, total...), counts, collective.Sum)
	clear(counts)
	clear(sends)
	clear(recvs)
	add(g.Start(ctx))
	add(d.BarrierAsync(ctx))
	add(d.AllGatherAsync(ctx, mine, t.out(-1, blocks...)))
	add(d.GatherAsync(ctx, mine, t.out(0, blocks...), 0))
	add(d.ScatterAsync(ctx, everybodys, t.out(-1, own...), last))
	add(d.AllToAllAsync(ctx, mine, t.out(-1, each...)))
	add(d.BroadcastAsync(ctx, mine, t.out(-1, blocks[:size]...), 0))
	sums := t.out(-1, summed...)
	add(d.AllReduceAsync(ctx, mine, sums, collective.Sum))
	add(d.AllReduceAsync(ctx, sums, t.out(-1, summed...), collective.Max)) // of what the one before gives
	add(d.ReduceAsync(ctx, mine, t.out(last, summed...), collective.Sum, last))
	add(d.ReduceScatterAsync(ctx, mine, t.out(-1, summed[me]), collective.Sum))
	if size > 1 {
		add(d.ExchangeAsync(ctx, []Transfer{
			{Peer: next, Data: mine}, {Peer: prev, Data: t.out(-1, blocks[prev*size:(prev+1)*size]...), Recv: true},
			{Peer: next, Data: part}, {Peer: prev, Data: t.out(-1, slices.Repeat([]int64{int64(prev)}, prev)...), Recv: true}}))
		switch c.Rank() {
		case 0:
			add(d.SendAsync(ctx, mine, last))
		case last:
			add(d.RecvAsync(ctx, t.out(-1, blocks[:size]...), 0))
		}
	}
	for i, h := range handles {
		if err := h.Wait(ctx); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		<-h.Done()
	}
	return errors.Join(t.check(), grouped(d, c, own, summed, blocks))
}

// grouped does the same in two Groups, the second started while the first is under way. Of
// its AllReduces the first two are one, the next is another reduction, and the next is too
// long to be fused.
func grouped(d *Comm, c *collective.Comm, own, summed, blocks []int64) error {
	ctx, size, me := context.Background(), c.Size(), c.Rank()
	next, prev, last := (me+1)%size, (me+size-1)%size, size-1
	t := &trial{d: d}
	mine, everybodys := t.in(own...), t.in(blocks...)
	long := slices.Repeat([]int64{1}, fuseBytes/8)
	var handles []*Handle
	for range 2 {
		g := d.Group()
		g.AllReduce(mine, t.out(-1, summed...), collective.Sum)
		g.AllReduce(mine, t.out(-1, summed...), collective.Sum)
		g.AllReduce(everybodys, t.out(-1, blocks...), collective.Max)
		g.AllReduce(t.in(long...), t.out(-1, long...), collective.Max)
		g.Broadcast(mine, t.out(-1, blocks[:size]...), 0)
		g.AllGather(mine, t.out(-1, blocks...))
		g.Gather(mine, t.out(0, blocks...), 0)
		g.Scatter(everybodys, t.out(-1, own...), last)
		g.Reduce(mine, t.out(0, summed...), collective.Sum, 0)
		g.ReduceScatter(mine, t.out(-1, summed[me]), collective.Sum)
		each := make([]int64, size)
		for r := range each {
			each[r] = int64(10*r + me)
		}
		g.AllToAll(mine, t.out(-1, each...))
		if size > 1 {
			g.Send(mine, next)
			g.Recv(t.out(-1, blocks[prev*size:(prev+1)*size]...), prev)
		}
		if many := len(g.operations); !mine.host() && many != 10 {
			return fmt.Errorf("a group has %d operations", many)
		}
		handles = append(handles, g.Start(ctx))
	}
	for _, h := range handles {
		if err := h.Wait(ctx); err != nil {
			return fmt.Errorf("a group: %w", err)
		}
	}
	if err := d.Group().Run(ctx); err != nil {
		return fmt.Errorf("an empty group: %w", err)
	}
	return t.check()
}
