package faultinject

import (
	"context"
	"fmt"
	"slices"

	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/algorithm"
)

// lengths of blocks, which ranks take by turns: one is empty, one shorter than a piece of a pipeline, two are longer.
var lengths = [ranks]int{1, 700, 0, 1099}

// vForms are the operations with blocks of unequal lengths, by two algorithms each: one that sends every block straight to
// where it goes, and one that sends several on together. All others find a block's place by the same function, and
// Bruck's AllToAll is the pairwise one then.
func vForms() (all []subject) {
	for _, f := range []struct {
		op algorithm.Op
		by []string
	}{
		{algorithm.AllGather, []string{"linear", "bruck"}}, {algorithm.Gather, []string{"linear", "binomial"}}, {algorithm.Scatter, []string{"linear", "binomial"}},
		{algorithm.AllToAll, []string{"linear", "pairwise"}}, {algorithm.ReduceScatter, []string{"ring", "butterfly"}},
	} {
		for _, name := range f.by {
			all = append(all, subject{name: fmt.Sprintf("%s with counts by %s", f.op, name), by: map[algorithm.Op]string{f.op: name}, messages: later(f.op),
				enter: vectors(func(c *collective.Comm, round int) ([][]int32, error) { return unequal(c, f.op, round) })})
		}
	}
	return all
}

// unequal makes one call with counts and checks its result.
func unequal(c *collective.Comm, op algorithm.Op, round int) (given [][]int32, err error) {
	ctx, root := context.Background(), round%ranks
	count := func(i int) int { return lengths[(i+round)%ranks] }
	counts, from := make([]int64, ranks), make([]int, ranks+1)
	var all []int32 // the ranks' blocks of their numbers
	for r := range ranks {
		counts[r], from[r+1] = int64(count(r)), from[r]+count(r)
		all = append(all, numbers(r, count(r), round)...)
	}
	me, n := c.Rank(), count(c.Rank())
	total := from[ranks]
	var in, got, want []int32
	switch op {
	case algorithm.AllGather:
		in, got, want = numbers(me, n, round), make([]int32, total), all
		err = c.AllGatherV(ctx, collective.Of(in), collective.Of(got), counts)
	case algorithm.Gather:
		in, got, want = numbers(me, n, round), make([]int32, total), make([]int32, total)
		if me == root {
			want = all
		}
		err = c.GatherV(ctx, collective.Of(in), collective.Of(got), counts, root)
	case algorithm.Scatter:
		in, got, want = numbers(me, total, round), make([]int32, n), numbers(root, total, round)[from[me]:from[me+1]]
		err = c.ScatterV(ctx, collective.Of(in), collective.Of(got), counts, root)
	case algorithm.ReduceScatter:
		in, got, want = numbers(me, total, round), make([]int32, n), make([]int32, n)
		for i := range want {
			want[i] = sum(from[me]+i, round)
		}
		err = c.ReduceScatterV(ctx, collective.Of(in), collective.Of(got), counts, collective.Sum)
	case algorithm.AllToAll: // from rank a to rank b go as many as from b to a
		sends := make([]int64, ranks)
		for r := range ranks {
			sends[r] = int64(count(me + r))
			in = append(in, numbers(10*me+r, count(me+r), round)...)
			want = append(want, numbers(10*r+me, count(me+r), round)...)
		}
		got = make([]int32, len(want))
		err = c.AllToAllV(ctx, collective.Of(in), collective.Of(got), sends, slices.Clone(sends))
	}
	if err == nil && !equal(got, want) {
		err = errWrong
	}
	return [][]int32{in, got}, err
}
