package collective

import (
	"fmt"
	"math"
	"strings"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
)

// The reasons of a choice.
const (
	byName   = "Options.Algorithms names it"
	byTable  = "the tuning table has it for this operation, number of ranks and length"
	byTuned  = "it is the cheapest by the tuning's model of this transport"
	byModel  = "it is the cheapest by rough figures of this transport"
	notAlone = ", since what was asked for does not keep the ranks' order"
)

// choose is the algorithm that the options name, that the tuning table has, or that
// is the cheapest by the model, and why. It depends only on what all ranks of a call
// have in common.
func (c *Comm) choose(call *algorithm.Call, width int64, inOrder bool) (best *algorithm.Algorithm, why string) {
	fits := func(a *algorithm.Algorithm) bool { return a.Ordered || !inOrder || call.Deterministic }
	refused := ""
	if name, ok := c.options.Algorithms[call.Op]; ok {
		if a, err := algorithm.Named(name, call.Op); err == nil {
			if fits(a) {
				return a, byName
			}
			refused = notAlone
		}
	}
	tuning := c.options.Tuning
	if a := tuning.choice(c.Transport(), call.Op, call.Size, c.bytes(call, width)); a != nil {
		if fits(a) {
			return a, byTable + refused
		}
		refused = notAlone
	}
	least := math.Inf(1)
	for _, a := range algorithm.For(call.Op) {
		if !fits(a) {
			continue
		}
		if cost := c.cost(a, call, width); best == nil || cost < least {
			best, least = a, cost
		}
	}
	if _, tuned := tuning.figures(c.Transport(), c.model); tuned {
		return best, byTuned + refused
	}
	return best, byModel + refused
}

// bytes are those of a call's vector; of all blocks together, where it has blocks.
func (c *Comm) bytes(call *algorithm.Call, width int64) int64 {
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
	return n * width
}

// cost is the model's estimate in seconds.
func (c *Comm) cost(a *algorithm.Algorithm, call *algorithm.Call, width int64) float64 {
	m, _ := c.options.Tuning.figures(c.Transport(), c.model)
	return a.CostOf(m, call, float64(c.bytes(call, width)), float64(c.options.Chunk))
}

// Explain says which algorithm an operation over a vector of n elements would use and
// why, what Deterministic changes about it, how a transport that says so carries messages
// here, and why in another way than it might, on how many machines the ranks are, whether a tuning table decided it, and what the
// model makes of the others, a line each.
func (c *Comm) Explain(op algorithm.Op, t Type, n int64) string {
	call := &algorithm.Call{Op: op, Size: c.Size(), Count: n, Deterministic: c.options.Deterministic, Nodes: c.nodes}
	if op >= algorithm.ReduceScatter {
		call.Count = n / int64(c.Size())
	}
	width := int64(max(1, t.Width()))
	chosen, why, merges := c.chooseOrMerge(call, width, false)
	var b strings.Builder
	fmt.Fprintf(&b, "%s of %d %s on %d ranks over %s:\n", op, n, t, c.Size(), c.Transport())
	switch {
	case merges:
		fmt.Fprintf(&b, "%s, because the vector is long and ranks read and write each other's memory; %s for reductions of the user's\n", MergeName, chosen.Name)
	case chosen != nil:
		fmt.Fprintf(&b, "%s, because %s\n", chosen.Name, why)
	}
	if chosen != nil && chosen.InCanonicalOrder(call) {
		fmt.Fprintf(&b, "%s exchanges contributions directly where it reduces, because Options.Deterministic asks for one order\n", chosen.Name)
	}
	if d, ok := c.ends.(transport.Describer); ok {
		fmt.Fprintln(&b, d.Describe())
	}
	if c.nodes != nil {
		fmt.Fprintln(&b, c.describeNodes())
	}
	if t := c.options.Tuning; t != nil {
		fmt.Fprintf(&b, "tuning: %s\n", t.Source)
	}
	for _, a := range algorithm.For(op) {
		mark := " "
		if a == chosen {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s %-13s %10.1f µs\n", mark, a.Name, 1e6*c.cost(a, call, width))
	}
	return b.String()
}
