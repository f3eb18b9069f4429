package faultinject

import (
	"context"
	"fmt"
	"slices"

	"github.com/volley-go/volley/collective"
)

// transfers are messages between two ranks: around a ring by Send and Recv, one after another, and between neighbours by
// Exchange, in both directions at once, more of them than a lane has room for and of unequal lengths.
func transfers() []subject {
	return []subject{
		{name: "Send and Recv around a ring", messages: []int64{0, 2}, enter: vectors(around)},
		{name: "Exchange between neighbours", messages: []int64{0, 11}, enter: vectors(func(c *collective.Comm, round int) ([][]int32, error) {
			return neighbours(c, round, 10, func(i int) int { return lengths[i%ranks] })
		})},
	}
}

// around sends a vector through all ranks and back to the first, which is another one in each round; each adds its numbers.
func around(c *collective.Comm, round int) ([][]int32, error) {
	const n = 600
	ctx, first, me := context.Background(), round%ranks, c.Rank()
	next, prev := (me+1)%ranks, (me+ranks-1)%ranks
	own, got, want := numbers(me, n, round), make([]int32, n), make([]int32, n)
	given := [][]int32{own, got}
	for i := range want {
		for r := first; ; r = (r + 1) % ranks {
			if want[i] += number(r, i, round); r == prev {
				break
			}
		}
	}
	if me == first {
		if err := c.Send(ctx, collective.Of(own), next); err != nil {
			return given, err
		}
	}
	if err := c.Recv(ctx, collective.Of(got), prev); err != nil {
		return given, err
	}
	if !slices.Equal(got, want) {
		return given, errWrong
	}
	if me == first {
		return given, nil
	}
	for i := range own {
		own[i] += got[i]
	}
	return given, c.Send(ctx, collective.Of(own), next)
}

// neighbours exchanges so many vectors with both neighbours; vector i of rank r is of length(i+r).
func neighbours(c *collective.Comm, round, many int, length func(i int) int) (given [][]int32, err error) {
	me := c.Rank()
	var group []collective.Transfer
	var got, want [][]int32
	for i := range many {
		for _, peer := range []int{(me + 1) % ranks, (me + ranks - 1) % ranks} {
			out, in := numbers(10*me+i, length(i+me), round), make([]int32, length(i+peer))
			got, want = append(got, in), append(want, numbers(10*peer+i, length(i+peer), round))
			given = append(given, out, in)
			group = append(group, collective.Transfer{Peer: peer, Data: collective.Of(out)}, collective.Transfer{Peer: peer, Data: collective.Of(in), Recv: true})
		}
	}
	if err = c.Exchange(context.Background(), group); err != nil {
		return given, err
	}
	for i := range got {
		if !slices.Equal(got[i], want[i]) {
			return given, errWrong
		}
	}
	return given, nil
}

// startedTogether are operations that are started together: groups, and handles of several that are under way.
func startedTogether() []subject {
	return []subject{
		{name: "a group", messages: []int64{0, 9}, enter: vectors(func(c *collective.Comm, round int) ([][]int32, error) {
			w := &wanted{}
			err := w.group(c, round).Run(context.Background())
			if err == nil {
				err = w.check()
			}
			return w.vectors, err
		})},
		{name: "operations under way", messages: []int64{0, 9}, enter: vectors(underWay)},
	}
}

// wanted are vectors of calls that are started, and the results.
type wanted struct {
	vectors   [][]int32
	got, want [][]int32
}

func (w *wanted) in(v []int32) collective.Vector {
	w.vectors = append(w.vectors, v)
	return collective.Of(v)
}

func (w *wanted) out(want []int32) collective.Vector {
	got := make([]int32, len(want))
	w.vectors, w.got, w.want = append(w.vectors, got), append(w.got, got), append(w.want, want)
	return collective.Of(got)
}

func (w *wanted) check() error {
	for i := range w.got {
		if !slices.Equal(w.got[i], w.want[i]) {
			return fmt.Errorf("%w: that of operation %d", errWrong, i)
		}
	}
	return nil
}

// everybodys are all ranks' vectors of so many numbers, and what they sum up to.
func everybodys(n, round int) (all, sums []int32) {
	for r := range ranks {
		all = append(all, numbers(r, n, round)...)
	}
	for i := range n {
		sums = append(sums, sum(i, round))
	}
	return all, sums
}

// group makes a group of operations and messages, the first two of which are done as one.
func (w *wanted) group(c *collective.Comm, round int) *collective.Group {
	const n = 300
	me, root := c.Rank(), round%ranks
	next, prev := (me+1)%ranks, (me+ranks-1)%ranks
	all, sums := everybodys(n, round)
	mine := func() collective.Vector { return w.in(numbers(me, n, round)) }
	g := c.Group()
	g.AllReduce(mine(), w.out(sums), collective.Sum)
	g.AllReduce(mine(), w.out(sums), collective.Sum)
	g.Broadcast(mine(), w.out(numbers(root, n, round)), root)
	g.Barrier()
	g.AllGather(mine(), w.out(all))
	g.ReduceScatter(mine(), w.out(sums[me*n/ranks:(me+1)*n/ranks]), collective.Sum)
	g.Send(mine(), next)
	g.Recv(w.out(numbers(prev, n, round)), prev)
	return g
}

// underWay starts operations, a group among them, and waits for all. When one has a Fault all later ones have the same.
func underWay(c *collective.Comm, round int) ([][]int32, error) {
	const n = 300
	ctx, w, me, root := context.Background(), &wanted{}, c.Rank(), round%ranks
	all, sums := everybodys(n, round)
	mine := func() collective.Vector { return w.in(numbers(me, n, round)) }
	handles := []*collective.Handle{
		c.AllReduceAsync(ctx, mine(), w.out(sums), collective.Sum),
		c.AllGatherVAsync(ctx, mine(), w.out(all), []int64{n, n, n, n}),
		c.BarrierAsync(ctx),
		w.group(c, round).Start(ctx),
		c.ReduceScatterAsync(ctx, mine(), w.out(sums[me*n/ranks:(me+1)*n/ranks]), collective.Sum),
	}
	if me == root {
		handles = append(handles, c.SendAsync(ctx, mine(), (root+1)%ranks))
	}
	if me == (root+1)%ranks {
		handles = append(handles, c.RecvAsync(ctx, w.out(numbers(root, n, round)), root))
	}
	var first error
	for i, h := range handles {
		err := h.Wait(ctx)
		if first != nil && (err == nil || err.Error() != first.Error()) {
			return w.vectors, fmt.Errorf("operation %d ends with %w, one before with %w", i, err, first)
		}
		first = err
	}
	if first == nil {
		first = w.check()
	}
	return w.vectors, first
}
