package algorithm

import (
	"math"
	"math/bits"
)

// Model is the α-β-γ model of a transport: a message of n bytes takes
// Alpha + n*Beta seconds, combining n bytes n*Gamma.
type Model struct {
	Alpha float64 `json:"alpha"`
	Beta  float64 `json:"beta"`
	Gamma float64 `json:"gamma"`
	// Pulled says that receivers move payloads themselves, out of the sender's memory: all those of
	// one rank at the same time. It is the transport's, not a machine's.
	Pulled bool `json:"-"`
	// Within is the model of messages between ranks of one machine, where they go another way than
	// those between machines, which the rest of this one is of; nil where they go the same.
	Within *Model `json:"-"`
}

// Cost estimates the seconds of an operation among p ranks whose whole vector (of
// all blocks together, where the operation has blocks) is of n bytes; chunk is the
// bytes of a pipeline's piece. It is +Inf for an operation that the algorithm
// cannot do. The formulas are those of the sources that the schedules name, for one
// machine and any order of reduction: see CostOf.
func (a *Algorithm) Cost(m Model, op Op, p int, n, chunk float64) float64 {
	if op >= numOps || a.Plans[op] == nil {
		return math.Inf(1)
	}
	if p <= 1 {
		return 0
	}
	q, levels := float64(p), float64(bits.Len(uint(p-1)))
	part := n * (q - 1) / q // what must leave or reach every rank at least
	pieces := math.Max(1, math.Ceil(n/chunk))
	piece := math.Min(n, chunk)
	rounds := func(k, each, combined float64) float64 { return k*m.Alpha + each*m.Beta + combined*m.Gamma }
	switch a.Name {
	case "linear":
		switch op {
		case Barrier:
			return 2 * rounds(q-1, 0, 0)
		case Broadcast:
			if m.Pulled { // one message more is a quarter of one that is waited for
				return rounds(1+(q-2)/4, n, 0)
			}
			return rounds(q-1, (q-1)*n, 0)
		case Reduce:
			return rounds(q-1, (q-1)*n, (q-1)*n)
		case AllToAll: // all messages are under way at once: one more is half of one that is waited for
			return rounds(q/2, part, 0)
		}
		return rounds(q-1, part, 0)
	case "direct":
		// Contributions lie in Scratch before they are combined: in the nearest caches where
		// one window holds the block.
		if windows := math.Ceil(n / q / (4 * foldChunk)); op == ReduceScatter && windows > 1 {
			return rounds(windows*(q-1), 2*part, part)
		} else if op == ReduceScatter {
			return rounds(q-1, part, part)
		}
		return rounds(q-1, (q-1)*n, (q-1)*n)
	case "ring":
		if op == AllReduce {
			return rounds(2*(q-1), 2*part, part)
		}
		if op == ReduceScatter {
			return rounds(q-1, part, part)
		}
		return rounds(q-1, part, 0)
	case "pairwise":
		switch op {
		case AllReduce: // a ring's, with another neighbour every round
			return rounds(2*(q-1)+1, 2*part, part)
		case AllGather:
			return rounds(q, part, 0)
		case ReduceScatter:
			return rounds(q-1, part, part)
		}
		return rounds(q-1, part, 0)
	case "tree": // every node sends each piece twice
		k := pieces + 2*levels
		if op == AllReduce {
			return rounds(2*k, 3*k*piece, 2*k*piece)
		}
		return rounds(k, 2*k*piece, 0)
	case "chain":
		k := pieces + q - 2
		if op == Reduce {
			return rounds(k, k*piece, k*piece)
		}
		return rounds(k, k*piece, 0)
	case "binomial":
		switch op {
		case Reduce:
			return rounds(levels, levels*n, levels*n)
		case Broadcast:
			return rounds(levels, levels*n, 0)
		}
		return rounds(levels, part+n/4, 0) // the copies in and out of the order of the tree
	case "doubling":
		switch op {
		case AllReduce:
			return rounds(levels, levels*n, levels*n)
		case AllGather:
			return rounds(levels, part+n/q, 0) // the own block is copied before it is sent
		}
		return rounds(levels, 0, 0)
	case "butterfly":
		extra := 0.0
		if p&(p-1) != 0 {
			extra = 1
		}
		if op == ReduceScatter {
			return rounds(levels, part+n/2, part)
		}
		return rounds(2*levels+2*extra, 2*part+2*extra*n, part+extra*n)
	case "bruck":
		if op == AllToAll {
			return rounds(levels, levels*n/2*2, 0)
		}
		return rounds(levels, part+n, 0)
	case "doubletree":
		k := pieces + 4*levels // of both trees, which share the rank's links
		if op == AllReduce {
			return rounds(2*k, 2*k*piece, k*piece)
		}
		return rounds(k, k*piece, 0)
	case "hierarchical": // on one machine: a level too many
		switch op {
		case Barrier:
			return rounds(3*levels, 0, 0)
		case Broadcast:
			return rounds(levels+1, (levels+1)*n, 0)
		case Reduce:
			return rounds(levels+1, (levels+1)*n, levels*n)
		case AllReduce:
			return rounds(4*levels, (levels+2)*n, (levels+1)*n)
		case Gather, Scatter:
			return rounds(levels+1, part+n/2, 0)
		case ReduceScatter:
			return rounds(q, part, part)
		}
		return rounds(q+1, part, 0)
	}
	return math.Inf(1)
}
