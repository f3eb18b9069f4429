package algorithm

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// walked is everything that the ranks of a call do.
func walked(a *Algorithm, c Call) string {
	var b strings.Builder
	for c.Rank = range c.Size {
		for r := range a.Plan(c).Rounds {
			fmt.Fprintf(&b, "%+v\n", *r)
		}
	}
	return b.String()
}

// InCanonicalOrder says of which calls the schedule is another one when they are deterministic.
func TestInCanonicalOrder(t *testing.T) {
	for _, a := range All {
		for op := range numOps {
			for _, size := range []int{2, 3, 4, 6, 8} {
				if a.Plans[op] == nil || a.Name == "butterfly" && op == ReduceScatter { // which is always direct where ranks are no power of two
					continue
				}
				c := Call{Op: op, Size: size, Count: 24, Chunk: 4}
				d := c
				d.Deterministic = true
				if differs := walked(a, c) != walked(a, d); differs != a.InCanonicalOrder(&d) || a.InCanonicalOrder(&c) {
					t.Errorf("%s of %s on %d ranks: another schedule %v, InCanonicalOrder %v", op, a.Name, size, differs, a.InCanonicalOrder(&d))
				}
			}
		}
	}
}

// A call costs what its schedule does: on one machine and in any order what Cost says, in the
// canonical order that of a direct exchange and of spreading the results.
func TestCostsOfOrder(t *testing.T) {
	m := Model{Alpha: 1e-6, Beta: 1e-9, Gamma: 1e-10}
	const chunk = 1 << 18
	named := func(name string, op Op) *Algorithm {
		a, err := Named(name, op)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	direct, doubling := named("direct", ReduceScatter), named("doubling", AllGather)
	for _, n := range []float64{64, 1 << 16, 1 << 24} {
		for _, size := range []int{2, 3, 4, 8} {
			for _, a := range All {
				for op := range numOps {
					c := &Call{Op: op, Size: size}
					one := *c
					one.Nodes = NewMachines(make([]int, size))
					for _, c := range []*Call{c, &one} {
						if got, want := a.CostOf(m, c, n, chunk), a.Cost(m, op, size, n, chunk); got != want && !(math.IsInf(got, 1) && math.IsInf(want, 1)) {
							t.Errorf("%s of %s on %d ranks of one machine costs %v, want %v", op, a.Name, size, got, want)
						}
					}
				}
			}
			exchanged := direct.Cost(m, ReduceScatter, size, n, chunk)
			for name, spread := range map[string]*Algorithm{"ring": named("ring", AllGather), "pairwise": named("pairwise", AllGather), "doubletree": doubling, "tree": doubling, "hierarchical": doubling} {
				c := &Call{Op: AllReduce, Size: size, Deterministic: true}
				if got, want := named(name, AllReduce).CostOf(m, c, n, chunk), exchanged+spread.Cost(m, AllGather, size, n, chunk); got != want {
					t.Errorf("a deterministic AllReduce of %s on %d ranks costs %v, want %v", name, size, got, want)
				}
			}
			c := &Call{Op: ReduceScatter, Size: size, Deterministic: true}
			if got := named("ring", ReduceScatter).CostOf(m, c, n, chunk); got != exchanged {
				t.Errorf("a deterministic ReduceScatter of ring on %d ranks costs %v, direct %v", size, got, exchanged)
			}
		}
	}
}

func hierarchicalOf(t *testing.T) *Algorithm {
	a, err := Named("hierarchical", AllReduce)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Where ranks are on several machines, those that take turns go hierarchically for all but
// short vectors; those that stand in runs have a ring for long ones, which leaves each machine
// once; what blocks need of machines is the same; and with a machine for every rank all is as on one.
func TestCostsOfMachines(t *testing.T) {
	m := Model{Alpha: 15e-6, Beta: 1. / 3e9, Gamma: 1. / 12e9}
	const chunk, size = 1 << 18, 8
	turns, runs, alone := make([]int, size), make([]int, size), make([]int, size)
	for r := range size {
		turns[r], runs[r], alone[r] = r%2, r/4, r
	}
	uneven := []int{0, 0, 0, 0, 0, 1, 1, 2}
	floats := func(op Op, n float64) int64 { // in a vector or block
		if op >= ReduceScatter {
			n /= size
		}
		return int64(n / 4)
	}
	best := func(of []int, op Op, n float64) string {
		name, least := "", math.Inf(1)
		for _, a := range For(op) {
			if cost := a.CostOf(m, &Call{Op: op, Size: size, Count: floats(op, n), Nodes: NewMachines(of)}, n, chunk); cost < least {
				name, least = a.Name, cost
			}
		}
		return name
	}
	for _, c := range []struct {
		of   []int
		op   Op
		n    float64
		want string
	}{
		{turns, AllReduce, 8, "doubling"},
		{turns, AllReduce, 1 << 18, "hierarchical"},
		{turns, AllReduce, 1 << 20, "hierarchical"},
		{turns, Broadcast, 1 << 16, "hierarchical"},
		{runs, AllReduce, 8, "doubling"},
		{runs, AllReduce, 1 << 16, "hierarchical"},
		{runs, AllReduce, 1 << 24, "ring"},
		{runs, Broadcast, 1 << 24, "chain"},
		{turns, AllGather, 8, "hierarchical"},
		{uneven, AllGather, 8, "doubling"},
		{turns, AllGather, 1 << 20, "hierarchical"},
		{runs, AllGather, 1 << 24, "ring"},
		{turns, ReduceScatter, 1 << 16, "hierarchical"},
		{runs, ReduceScatter, 1 << 20, "ring"},
		{uneven, ReduceScatter, 1 << 24, "ring"},
		{turns, AllToAll, 8, "bruck"},
		{runs, AllToAll, 1 << 24, "hierarchical"},
		{uneven, AllToAll, 1 << 24, "linear"},
		{turns, Reduce, 1 << 24, "hierarchical"},
		{runs, Reduce, 1 << 24, "chain"},
		{runs, Gather, 1 << 16, "hierarchical"},
		{runs, Scatter, 1 << 24, "linear"},
		{uneven, Scatter, 8, "binomial"},
		{runs, Barrier, 1, "doubling"},
	} {
		if got := best(c.of, c.op, c.n); got != c.want {
			t.Errorf("%s of %v bytes on machines %v: %s is the cheapest, want %s", c.op, c.n, c.of, got, c.want)
		}
	}
	// What stays on a machine may cost less than what leaves it: long vectors then go
	// hierarchically where ranks take turns, at the cost of both models.
	within := Model{Alpha: 0.5e-6, Beta: 1. / 8e9, Gamma: 1. / 12e9}
	both := m
	both.Within = &within
	h := hierarchicalOf(t)
	for op, want := range map[Op]float64{
		Broadcast: 2*(within.Alpha+within.Beta*1e6) + m.Alpha + m.Beta*1e6,
		AllReduce: 6*within.Alpha + (3./2*within.Beta+3./4*within.Gamma)*1e6 + 2*m.Alpha + (m.Beta+m.Gamma/2)*1e6,
		AllGather: 3*within.Alpha + (3./4+1./4)*within.Beta*1e6 + m.Alpha + m.Beta/2*1e6,
		Gather:    2*within.Alpha + (3./8+1./8+1./4)*within.Beta*1e6 + m.Alpha + m.Beta/2*1e6,
		Barrier:   4*within.Alpha + m.Alpha,
	} {
		c := &Call{Op: op, Size: size, Count: floats(op, 1e6), Nodes: NewMachines(turns)}
		if got := h.CostOf(both, c, 1e6, chunk); math.Abs(got-want) > 1e-12 || got >= h.CostOf(m, c, 1e6, chunk) {
			t.Errorf("a hierarchical %s costs %v where a machine's ranks have a way of their own, want %v", op, got, want)
		}
		c.Nodes = nil
		if got, want := h.CostOf(both, c, 1e6, chunk), h.CostOf(m, c, 1e6, chunk); got != want {
			t.Errorf("a hierarchical %s on one machine costs %v, want %v", op, got, want)
		}
	}
	for _, a := range All {
		for op := range numOps {
			c := &Call{Op: op, Size: size, Nodes: NewMachines(alone)}
			if got, want := a.CostOf(m, c, 1<<20, chunk), a.Cost(m, op, size, 1<<20, chunk); a.Name != "hierarchical" && got != want && !math.IsInf(want, 1) {
				t.Errorf("%s of %s costs %v on as many machines as ranks, want %v", op, a.Name, got, want)
			}
			c.Deterministic, c.Nodes = true, NewMachines(turns)
			if h, d := a.CostOf(m, c, 1<<20, chunk), a.Cost(m, op, size, 1<<20, chunk); op == AllReduce && a.Name == "hierarchical" && h <= d {
				t.Errorf("a deterministic %s has the cost of machines, %v, that of a direct exchange is above %v", op, h, d)
			}
		}
	}
}
