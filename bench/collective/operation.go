package collective

import (
	"fmt"
	"slices"
)

// operation is a collective operation over float32, summed where it reduces.
type operation struct {
	name    string
	blocks  bool // one block for each rank: the size is that of all
	in, out bool // it is timed in place, out of place
	factor  func(ranks float64) float64
}

// share is the part of all blocks that is of other ranks.
func share(n float64) float64 { return (n - 1) / n }

func once(float64) float64 { return 1 }

// operations are what nccl-tests have, in their terms: which are in place and the
// factors from algbw to busbw.
var operations = []operation{
	{name: "allreduce", in: true, out: true, factor: func(n float64) float64 { return 2 * share(n) }},
	{name: "broadcast", in: true, factor: once},
	{name: "reduce", in: true, out: true, factor: once},
	{name: "reducescatter", blocks: true, in: true, out: true, factor: share},
	{name: "allgather", blocks: true, in: true, out: true, factor: share},
	{name: "gather", blocks: true, out: true, factor: share},
	{name: "scatter", blocks: true, out: true, factor: share},
	{name: "alltoall", blocks: true, out: true, factor: share},
}

// Operations lists the operations.
func Operations() []string {
	var names []string
	for _, o := range operations {
		names = append(names, o.name)
	}
	return names
}

func operationNamed(name string) (*operation, error) {
	i := slices.IndexFunc(operations, func(o operation) bool { return o.name == name })
	if i < 0 {
		return nil, fmt.Errorf("collective: no operation %q; there are %v", name, Operations())
	}
	return &operations[i], nil
}

// elementBytes is the width of a float32.
const elementBytes = 4

// count is the elements of the vector, or of a block, for a size: at least one.
func (o *operation) count(size int64, ranks int) int64 {
	if o.blocks {
		size /= int64(ranks)
	}
	return max(1, size/elementBytes)
}

// bytes is the size that a count comes to.
func (o *operation) bytes(count int64, ranks int) int64 {
	if o.blocks {
		count *= int64(ranks)
	}
	return count * elementBytes
}

// redop is the column of that name.
func (o *operation) redop() string {
	switch o.name {
	case "allreduce", "reduce", "reducescatter":
		return "sum"
	}
	return "none"
}
