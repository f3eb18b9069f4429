package algorithm

import (
	"fmt"
	"strings"
)

// Op is a collective operation.
type Op uint8

// The operations, with NCCL's meaning. AllGather, Gather, Scatter and
// ReduceScatter take blocks of unequal length too (MPI's v forms), and so does
// AllToAll.
const (
	Barrier Op = iota
	Broadcast
	Reduce
	AllReduce
	ReduceScatter
	AllGather
	Gather
	Scatter
	AllToAll
	numOps
)

var opNames = [numOps]string{"Barrier", "Broadcast", "Reduce", "AllReduce", "ReduceScatter", "AllGather", "Gather", "Scatter", "AllToAll"}

// String is the operation's name.
func (o Op) String() string {
	if o < numOps {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// ParseOp is the operation of a name, in any case.
func ParseOp(name string) (Op, error) {
	for o, known := range opNames {
		if strings.EqualFold(name, known) {
			return Op(o), nil
		}
	}
	return 0, fmt.Errorf("no operation %q: there are %s", name, strings.Join(opNames[:], ", "))
}

// Call is one rank's view of one call. All ranks of a call have the same Op,
// Size, Root, Count, Counts, Chunk, Deterministic and Nodes.
type Call struct {
	Op         Op
	Rank, Size int
	Root       int // of Broadcast, Reduce, Gather, Scatter
	// Count is the vector's length (Broadcast, Reduce, AllReduce), or that of every
	// block where Counts is nil.
	Count int64
	// Counts are the blocks' lengths by rank, or nil: then all are Count long.
	// AllToAll: what this rank sends to each.
	Counts []int64
	// Recvs is what this rank receives from each in an AllToAll with Counts.
	Recvs []int64
	// Chunk is the length of a pipeline's pieces; 0 leaves it to the schedule.
	Chunk int64
	// Deterministic asks for the canonical order of reduction.
	Deterministic bool
	// InPlace says that Input and Output are the same memory: for AllReduce and
	// Broadcast the whole, for ReduceScatter and AllGather the rank's own block, as for
	// the root of Scatter and Gather, for the root of Reduce the vector.
	InPlace bool
	// Nodes says which ranks share a machine; nil: all do.
	Nodes *Machines
}

// block is the length of rank r's block.
func (c *Call) block(r int) int64 {
	if c.Counts != nil {
		return c.Counts[r]
	}
	return c.Count
}

// offset is where rank r's block starts among all blocks.
func (c *Call) offset(r int) int64 {
	if c.Counts == nil {
		return int64(r) * c.Count
	}
	var sum int64
	for _, n := range c.Counts[:r] {
		sum += n
	}
	return sum
}

// cut cuts n elements into size parts as equal as they can be, the first ones
// longer: part r is [cut(n, size, r), cut(n, size, r+1)).
func cut(n int64, size, r int) int64 {
	q, rest := n/int64(size), n%int64(size)
	return int64(r)*q + min(int64(r), rest)
}

// InputLen is the length of Input for this rank, in elements.
func (c *Call) InputLen() int64 {
	switch c.Op {
	case Broadcast:
		if c.Rank != c.Root {
			return 0
		}
		return c.Count
	case Reduce, AllReduce:
		return c.Count
	case ReduceScatter, AllToAll:
		return c.all()
	case AllGather, Gather:
		return c.block(c.Rank)
	case Scatter:
		if c.Rank == c.Root {
			return c.all()
		}
	}
	return 0
}

// OutputLen is the length of Output for this rank, in elements.
func (c *Call) OutputLen() int64 {
	switch c.Op {
	case Broadcast, AllReduce:
		return c.Count
	case Reduce:
		if c.Rank == c.Root {
			return c.Count
		}
	case ReduceScatter, Scatter:
		return c.block(c.Rank)
	case AllGather:
		return c.all()
	case Gather:
		if c.Rank == c.Root {
			return c.all()
		}
	case AllToAll:
		if c.Counts == nil {
			return int64(c.Size) * c.Count
		}
		var sum int64
		for _, n := range c.Recvs {
			sum += n
		}
		return sum
	}
	return 0
}
