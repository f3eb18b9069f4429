package algorithm

import "math"

// InCanonicalOrder says that a call's reducing part is, since the canonical order is asked for,
// the direct exchange of contributions in place of what the algorithm is named for.
func (a *Algorithm) InCanonicalOrder(c *Call) bool {
	if !c.Deterministic || c.Size < 2 {
		return false
	}
	switch a.Name {
	case "hierarchical":
		return c.Op == Reduce || c.Op == AllReduce || c.Op == ReduceScatter
	case "ring", "pairwise", "tree", "doubletree":
		return c.Op == AllReduce || c.Op == ReduceScatter
	case "butterfly":
		return c.Size&(c.Size-1) != 0 && (c.Op == AllReduce || c.Op == ReduceScatter)
	case "chain", "linear":
		return c.Op == Reduce
	}
	return false
}

// CostOf is Cost of a call, with what its canonical order and its ranks' machines change. n is
// the bytes of its vector, of all blocks together where it has blocks.
func (a *Algorithm) CostOf(m Model, c *Call, n, chunk float64) float64 {
	if c.Op >= numOps || a.Plans[c.Op] == nil {
		return math.Inf(1)
	}
	nodes := c.machines()
	if nodes == nil {
		return a.costInOrder(m, c, n, chunk)
	}
	if a.Name == "hierarchical" && !a.InCanonicalOrder(c) {
		return acrossMachines(m, c, nodes, n, chunk)
	}
	// The ranks of a machine share its link to the others, on which as many bytes are under
	// way at once as ranks of it send to other machines in one round.
	m.Beta *= float64(a.sharing(c, nodes))
	return a.costInOrder(m, c, n, chunk)
}

// sharing is how many ranks of one machine send to others at once.
func (a *Algorithm) sharing(c *Call, nodes *Machines) int {
	if c.Op == Reduce && a.InCanonicalOrder(c) {
		return 1 // all to the root, whose link is the one that is waited for
	}
	switch {
	case c.Op == Gather, c.Op == Scatter: // as many bytes by every way over the root's link
		return 1
	case a.InCanonicalOrder(c): // the direct exchange
	case c.Op == Broadcast && a.Name == "linear", c.Op == Reduce && (a.Name == "linear" || a.Name == "direct"):
		return 1
	case a.Name == "ring", a.Name == "chain":
		return nodes.leaving()
	case a.Name == "tree", a.Name == "doubletree": // few edges leave a run of ranks
		return min(nodes.Most(), 2*nodes.leaving())
	}
	return nodes.Most()
}

// levels are the schedules that a hierarchical one is made of.
var levels = func() map[string]*Algorithm {
	all := map[string]*Algorithm{}
	for _, a := range table() {
		all[a.Name] = a
	}
	return all
}()

// acrossMachines is the cost of a hierarchical schedule: its inner schedules among the ranks of
// the largest machine, and the outer one among the machines, over whose links goes what all ranks there send.
// A message within a machine is charged as one between two, unless the model has another for it. Blocks that are put
// into another order are charged a quarter of a message, as a tree's are.
func acrossMachines(m Model, c *Call, nodes *Machines, n, chunk float64) float64 {
	within := m
	if m.Within != nil {
		within = *m.Within
	}
	most, machines := nodes.Most(), nodes.Len()
	own := n * float64(most) / float64(c.Size) // the blocks of the largest machine
	inner := func(name string, op Op, n float64) float64 { return levels[name].Cost(within, op, most, n, chunk) }
	outer := func(name string, op Op) float64 { return levels[name].Cost(m, op, machines, n, chunk) }
	moved := 0.0
	if !nodes.runs || nodes.each > 0 {
		moved = within.Beta * n / 4
	}
	switch c.Op {
	case Barrier:
		return 2*inner("doubling", Barrier, 0) + outer("doubling", Barrier)
	case Broadcast:
		return inner("binomial", Broadcast, n) + outer("binomial", Broadcast)
	case Reduce:
		return inner("binomial", Reduce, n) + outer("binomial", Reduce)
	case AllReduce:
		if c.inLanes(nodes) {
			return inner("ring", AllReduce, n) + outer("butterfly", AllReduce)
		}
		return inner("binomial", Broadcast, n) + outer("butterfly", AllReduce) + inner("binomial", Reduce, n)
	case ReduceScatter:
		if nodes.each > 0 {
			return moved + inner(reduceScatterOf(c, most, 1), ReduceScatter, n) + outer(reduceScatterOf(c, machines, most), ReduceScatter)
		}
		return moved + inner("binomial", Reduce, n) + outer(reduceScatterOf(c, machines, 1), ReduceScatter) + inner("binomial", Scatter, own)
	case AllGather:
		if nodes.each > 0 {
			return moved + inner(allGatherOf(c, 1), AllGather, n) + outer(allGatherOf(c, most), AllGather)
		}
		return moved + inner("binomial", Gather, own) + outer(allGatherOf(c, 1), AllGather) + inner("binomial", Broadcast, n)
	case Gather, Scatter:
		if nodes.runs {
			moved = 0
		}
		return moved + inner("binomial", c.Op, own) + outer("linear", c.Op)
	case AllToAll:
		if nodes.each == 0 || c.Counts != nil {
			return levels["pairwise"].CostOf(m, c, n, chunk)
		}
		m.Beta *= float64(most) // every rank sends all but what stays
		return 3*moved + inner("pairwise", AllToAll, n) + outer("pairwise", AllToAll)
	}
	return math.Inf(1)
}

// reduceScatterOf is what levelReduceScatter does among so many ranks with one of so many parts of a call's blocks.
func reduceScatterOf(c *Call, ranks, parts int) string {
	if c.all()/int64(parts) < laneCount && ranks&(ranks-1) == 0 {
		return "butterfly"
	}
	return "pairwise"
}

// allGatherOf is what levelAllGather does with one of so many parts of a call's blocks.
func allGatherOf(c *Call, parts int) string {
	if c.all()/int64(parts) < laneCount {
		return "doubling"
	}
	return "ring"
}

// costInOrder is Cost where the canonical order may be asked for.
func (a *Algorithm) costInOrder(m Model, c *Call, n, chunk float64) float64 {
	if !a.InCanonicalOrder(c) {
		return a.Cost(m, c.Op, c.Size, n, chunk)
	}
	exchange := &Algorithm{Name: "direct", Plans: [numOps]func(*Call) Plan{Reduce: gatherAndFold, ReduceScatter: directReduceScatter}}
	if c.Op != AllReduce {
		return exchange.Cost(m, c.Op, c.Size, n, chunk)
	}
	spread := &Algorithm{Name: a.Name, Plans: [numOps]func(*Call) Plan{AllGather: doublingAllGather}}
	if a.Name != "ring" && a.Name != "pairwise" {
		spread.Name = "doubling"
	}
	return exchange.Cost(m, ReduceScatter, c.Size, n, chunk) + spread.Cost(m, AllGather, c.Size, n, chunk)
}
