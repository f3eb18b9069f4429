package algorithm

import "math"

// InCanonicalOrder says that a call's reducing part is, since the canonical order is asked for,
// the direct exchange of contributions in place of what the algorithm is named for.
func (a *Algorithm) InCanonicalOrder(c *Call) bool {
	if !c.Deterministic || c.Size < 2 {
		return false
	}
	switch a.Name {
	case "ring", "pairwise", "tree", "doubletree", "hierarchical":
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
	if nodes == nil || c.Op != AllReduce && c.Op != Broadcast {
		return a.costInOrder(m, c, n, chunk)
	}
	if a.Name == "hierarchical" && !a.InCanonicalOrder(c) {
		return acrossMachines(m, c.Op, nodes, n, chunk)
	}
	// The ranks of a machine share its link to the others, on which as many bytes are under
	// way at once as ranks of it send to other machines in one round.
	m.Beta *= float64(a.sharing(c, nodes))
	return a.costInOrder(m, c, n, chunk)
}

// sharing is how many ranks of one machine send to others at once.
func (a *Algorithm) sharing(c *Call, nodes *Machines) int {
	switch {
	case a.InCanonicalOrder(c): // the direct exchange
	case a.Name == "linear": // the root alone sends
		return 1
	case a.Name == "ring", a.Name == "chain":
		return nodes.leaving()
	case a.Name == "tree", a.Name == "doubletree": // few edges leave a run of ranks
		return min(nodes.Most(), 2*nodes.leaving())
	}
	return nodes.Most()
}

// acrossMachines is the cost of a hierarchical schedule: its inner schedules among the ranks of
// the largest machine, and the outer one among the machines, of each of which one rank sends.
// A message within a machine is charged as one between two, unless the model has another for it.
func acrossMachines(m Model, op Op, nodes *Machines, n, chunk float64) float64 {
	inner := m
	if m.Within != nil {
		inner = *m.Within
	}
	tree := &Algorithm{Name: "binomial", Plans: [numOps]func(*Call) Plan{Broadcast: binomialBroadcast, Reduce: binomialReduce}}
	within := tree.Cost(inner, Broadcast, nodes.Most(), n, chunk)
	if op == Broadcast {
		return within + tree.Cost(m, Broadcast, nodes.Len(), n, chunk)
	}
	across := &Algorithm{Name: "butterfly", Plans: [numOps]func(*Call) Plan{AllReduce: butterflyAllReduce}}
	return within + tree.Cost(inner, Reduce, nodes.Most(), n, chunk) + across.Cost(m, AllReduce, nodes.Len(), n, chunk)
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
