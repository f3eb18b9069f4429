package collective

import (
	"fmt"
	"math"
	"strings"

	"github.com/volley-go/volley/collective/algorithm"
)

// choose is the algorithm that the options name, or the cheapest by the model. It
// depends only on what all ranks of a call have in common.
func (c *Comm) choose(call *algorithm.Call, width int64, inOrder bool) *algorithm.Algorithm {
	if name, ok := c.options.Algorithms[call.Op]; ok {
		if a, err := algorithm.Named(name, call.Op); err == nil && (a.Ordered || !inOrder || call.Deterministic) {
			return a
		}
	}
	var best *algorithm.Algorithm
	least := math.Inf(1)
	for _, a := range algorithm.For(call.Op) {
		if inOrder && !a.Ordered && !call.Deterministic {
			continue
		}
		if cost := c.cost(a, call, width); best == nil || cost < least {
			best, least = a, cost
		}
	}
	return best
}

// cost is the model's estimate; where lengths differ between ranks, of their sum.
func (c *Comm) cost(a *algorithm.Algorithm, call *algorithm.Call, width int64) float64 {
	n := call.Count
	switch {
	case call.Op == algorithm.AllToAll && call.Counts != nil:
		n = 1 << 16 / width // only the rank itself knows: a middle length
	case call.Counts != nil:
		n = 0
		for _, k := range call.Counts {
			n += k
		}
	case call.Op >= algorithm.ReduceScatter:
		n *= int64(call.Size)
	}
	return a.Cost(c.model, call.Op, call.Size, float64(n*width), float64(c.options.Chunk))
}

// Explain says which algorithm an operation over a vector of n elements would use,
// and what the model makes of the others, a line each.
func (c *Comm) Explain(op algorithm.Op, t Type, n int64) string {
	call := &algorithm.Call{Op: op, Size: c.Size(), Count: n}
	if op >= algorithm.ReduceScatter {
		call.Count = n / int64(c.Size())
	}
	width := int64(max(1, t.Width()))
	chosen := c.choose(call, width, false)
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %d %s on %d ranks over %s:\n", op, n, t, c.Size(), c.Transport())
	for _, a := range algorithm.For(op) {
		mark := " "
		if a == chosen {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s %-13s %10.1f µs\n", mark, a.Name, 1e6*c.cost(a, call, width))
	}
	return b.String()
}
