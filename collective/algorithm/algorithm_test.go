package algorithm

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

var sizes = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17}

// Every schedule of every operation, for many sizes, roots, lengths and blocks,
// in place and not, gives every rank just what the operation says.
func TestSchedules(t *testing.T) {
	for _, a := range All {
		for op := range numOps {
			if a.Plans[op] == nil {
				continue
			}
			t.Run(a.Name+"/"+op.String(), func(t *testing.T) {
				for _, size := range sizes {
					for _, c := range variants(op, size) {
						if c.Nodes != nil && a.Name != "hierarchical" && size != 5 && size != 8 {
							continue // it does not ask where ranks are
						}
						check(t, a, c)
					}
				}
			})
		}
	}
}

// variants are calls of one operation, without Rank.
func variants(op Op, size int) []Call {
	var all []Call
	uneven := make([]int64, size)
	for r := range uneven {
		uneven[r] = int64((r*5 + 2) % 4)
	}
	for _, count := range []int64{0, 1, 5, 23} {
		roots := []int{0}
		if op == Broadcast || op == Reduce || op == Gather || op == Scatter {
			roots = []int{0, size / 2, size - 1}
		}
		for _, root := range roots {
			from := len(all)
			c := Call{Op: op, Size: size, Root: root, Count: count, Chunk: 4}
			all = append(all, c)
			switch op {
			case AllReduce, Reduce:
				d := c
				d.Deterministic = true
				all = append(all, d)
				c.InPlace, d.InPlace = true, true
				all = append(all, c, d)
			case ReduceScatter:
				c.Deterministic = true
				all = append(all, c)
			case Broadcast, AllGather:
				c.InPlace = true
				all = append(all, c)
			}
			// Each of these, whatever ranks share a machine.
			for _, c := range all[from:] {
				if count == 5 {
					continue
				}
				for _, nodes := range placements(size) {
					c.Nodes = nodes
					all = append(all, c)
				}
			}
		}
	}
	from := len(all)
	switch op {
	case ReduceScatter:
		all = append(all, Call{Op: op, Size: size, Counts: uneven, Deterministic: true})
		fallthrough
	case AllGather, Gather, Scatter, AllToAll:
		all = append(all, Call{Op: op, Size: size, Counts: uneven, Root: size / 2})
	}
	for _, c := range all[from:] {
		for _, nodes := range placements(size) {
			c.Nodes = nodes
			all = append(all, c)
		}
	}
	return all
}

// placements are ranks on machines: in runs, in turns, unevenly out of order, and in runs and turns of as many on each.
func placements(size int) []*Machines {
	all := make([][]int, 3)
	for i := range all {
		all[i] = make([]int, size)
	}
	for r := range size {
		all[0][r], all[1][r], all[2][r] = r*3/max(size, 3), r%2, (size-r)*(size-r)%5
	}
	for machines := 2; machines < size; machines++ {
		if size%machines != 0 {
			continue
		}
		runs, turns := make([]int, size), make([]int, size)
		for r := range size {
			runs[r], turns[r] = r*machines/size, (size-r)%machines
		}
		all = append(all, runs, turns)
		if size%2 == 0 && machines > 2 {
			break // of the many that 12 and 16 have, those of 2 and of the next
		}
	}
	var nodes []*Machines
	for _, of := range all {
		nodes = append(nodes, NewMachines(of))
	}
	return nodes
}

func check(t *testing.T, a *Algorithm, c Call) {
	t.Helper()
	calls := make([]Call, c.Size)
	for r := range calls {
		calls[r] = c
		calls[r].Rank = r
		if c.Op == AllToAll && c.Counts != nil {
			// Rank r sends Counts[(to+r)%Size] to rank to.
			calls[r].Counts, calls[r].Recvs = make([]int64, c.Size), make([]int64, c.Size)
			for o := range c.Size {
				calls[r].Counts[o] = c.Counts[(o+r)%c.Size]
				calls[r].Recvs[o] = c.Counts[(r+o)%c.Size]
			}
		}
	}
	w := run(t, a, calls)
	for r := range calls {
		got := w.mem[r][Output]
		want := expected(calls, r)
		if len(got) != len(want) {
			t.Fatalf("rank %d has %d elements, wants %d", r, len(got), len(want))
		}
		for i := range got {
			if err := same(a, &calls[r], got[i], want[i]); err != nil {
				t.Fatalf("%+v: rank %d, element %d: %v", c, r, i, err)
			}
		}
	}
}

// expected are the values of a rank's Output; a reduction's in the canonical order.
func expected(calls []Call, r int) []value {
	c := &calls[r]
	var want []value
	for i := range c.OutputLen() {
		switch c.Op {
		case Broadcast:
			want = append(want, fmt.Sprintf("%d:%d", c.Root, i))
		case Reduce, AllReduce:
			want = append(want, canonical(c.Size, func(q int) string { return fmt.Sprintf("%d:%d", q, i) }))
		case ReduceScatter:
			want = append(want, canonical(c.Size, func(q int) string { return fmt.Sprintf("%d:%d", q, c.offset(r)+i) }))
		case Scatter:
			want = append(want, fmt.Sprintf("%d:%d", c.Root, c.offset(r)+i))
		}
	}
	switch c.Op {
	case AllGather, Gather:
		for q := range c.Size {
			for i := range c.block(q) {
				if c.Op == AllGather || r == c.Root {
					want = append(want, fmt.Sprintf("%d:%d", q, i))
				}
			}
		}
	case AllToAll:
		for q := range c.Size {
			for i := range calls[q].block(r) {
				want = append(want, fmt.Sprintf("%d:%d", q, calls[q].offset(r)+i))
			}
		}
	}
	return want
}

// same compares an element: bit for bit where the call asks for the canonical
// order, in the ranks' order where the algorithm promises it, else as a set.
func same(a *Algorithm, c *Call, got, want value) error {
	g, w := leaves(got), leaves(want)
	if c.Deterministic {
		if got != want {
			return fmt.Errorf("is %s, in the canonical order %s", got, want)
		}
		return nil
	}
	if !a.Ordered {
		slices.Sort(g)
		slices.Sort(w)
	}
	if !slices.Equal(g, w) {
		return fmt.Errorf("is %s, must hold %s", got, want)
	}
	return nil
}

// A barrier's schedule lets no rank out before all are in.
func TestBarriers(t *testing.T) {
	for _, a := range For(Barrier) {
		for _, size := range sizes {
			calls := make([]Call, size)
			for _, nodes := range append(placements(size), nil) {
				for r := range calls {
					calls[r] = Call{Op: Barrier, Rank: r, Size: size, Nodes: nodes}
				}
				run(t, a, calls)
				for r := range calls {
					if known := heardOf(a, calls, r); known != size {
						t.Errorf("%s with %d ranks: rank %d leaves knowing of %d", a.Name, size, r, known)
					}
				}
			}
		}
	}
}

// heardOf counts the ranks whose entry rank r knows of at its end: knowledge
// travels with messages, round by round.
func heardOf(a *Algorithm, calls []Call, rank int) int {
	type event struct{ rank, round int }
	rounds := make([][]*Round, len(calls))
	for r := range calls {
		for round := range a.Plan(calls[r]).Rounds {
			copied := &Round{Sends: slices.Clone(round.Sends), Recvs: slices.Clone(round.Recvs)}
			rounds[r] = append(rounds[r], copied)
		}
	}
	// The n-th message from one rank to another, by the round it is sent in.
	sent := map[[2]int][]int{}
	for r := range rounds {
		for i, round := range rounds[r] {
			for _, s := range round.Sends {
				sent[[2]int{r, s.To}] = append(sent[[2]int{r, s.To}], i)
			}
		}
	}
	seen, known := map[event]bool{}, map[int]bool{}
	var walk func(r, upTo int)
	walk = func(r, upTo int) { // everything that rank r knows when it has ended rounds [0, upTo)
		known[r] = true
		if seen[event{r, upTo}] {
			return
		}
		seen[event{r, upTo}] = true
		taken := map[int]int{}
		for i := range upTo {
			for _, v := range rounds[r][i].Recvs {
				walk(v.From, sent[[2]int{v.From, r}][taken[v.From]])
				taken[v.From]++
			}
		}
	}
	walk(rank, len(rounds[rank]))
	return len(known)
}

// An unknown name is answered with those that there are.
func TestNamed(t *testing.T) {
	if _, err := Named("ring", Barrier); err == nil || err.Error() != `no algorithm "ring" for Barrier: there are doubling, hierarchical, linear` {
		t.Errorf("Named: %v", err)
	}
	if a, err := Named("ring", AllReduce); err != nil || a.Name != "ring" {
		t.Errorf("Named: %v, %v", a, err)
	}
}

// Every algorithm that can do an operation has a finite cost, which grows with the
// bytes; those that cannot have none.
func TestCosts(t *testing.T) {
	m := Model{Alpha: 1e-6, Beta: 1e-9, Gamma: 1e-10}
	for _, a := range All {
		for op := range numOps {
			cost := a.Cost(m, op, 8, 1<<10, 1<<18)
			if can := a.Plans[op] != nil; can == math.IsInf(cost, 1) || can && cost <= 0 {
				t.Errorf("%s of %s costs %v", op, a.Name, cost)
			}
			if more := a.Cost(m, op, 8, 1<<26, 1<<18); op != Barrier && more <= cost && a.Plans[op] != nil {
				t.Errorf("%s of %s costs %v for 1 KiB, %v for 64 MiB", op, a.Name, cost, more)
			}
		}
	}
}
