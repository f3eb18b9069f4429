package columnar

import (
	"context"
	"math/rand/v2"

	"github.com/volley-go/volley/kernels"
)

// seed makes the data of every run the same.
const seed = 42

// job is an operation with its input in memory.
type job struct {
	// run does the operation once and gives back what it made.
	run func(ctx context.Context) (result, error)
	// input is the bytes of input in memory.
	input int64
	// read is the bytes of input that the operation has to read, written those
	// of the output that it has to write.
	read, written int64
	// release gives the input back.
	release func()
}

// result is what one run made.
type result interface {
	// check holds it against plain loops over the input.
	check() error
	// Release gives it back.
	Release()
}

// operation is an entry of the suite.
type operation struct {
	name string
	// make lays the input of n rows out on the backend's device.
	make func(ctx context.Context, b *kernels.Backend, n int64) (*job, error)
}

// operations lists the suite in the order in which it runs.
var operations = []operation{
	{"sum", reduction(kernels.Sum)},
	{"minmax", reduction(kernels.Min, kernels.Max)},
	{"filter_count", filterCount},
	{"cumsum", cumsum},
	{"filter_10", filter(0.10)},
	{"filter_50", filter(0.50)},
	{"groupby_100", groupBy(100)},
	{"groupby_1e5", groupBy(100_000)},
	{"groupby_unique", groupBy(0)},
	{"distinct", distinct},
	{"join_1e5", join(100_000)},
	{"join_unique", join(0)},
	{"sort", sortRows},
	{"sort_32", sortKeys},
	{"argsort", argsort[int64]},
	{"argsort_32", argsort[uint32]},
	{"topk", topK},
}

// Names lists the operations in the order in which they run.
func Names() []string {
	names := make([]string, len(operations))
	for i, op := range operations {
		names[i] = op.name
	}
	return names
}

// random is the generator of input number i of an operation.
func random(i uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, i)) }

// integers are n numbers below limit, or each number below n once, shuffled,
// when limit is 0.
func integers(r *rand.Rand, n, limit int64) []int64 {
	v := make([]int64, n)
	for i := range v {
		if limit > 0 {
			v[i] = r.Int64N(limit)
		} else { // the inside-out shuffle
			k := r.Int64N(int64(i) + 1)
			v[i] = v[k]
			v[k] = int64(i)
		}
	}
	return v
}

// floats are n numbers in [0, 1).
func floats(r *rand.Rand, n int64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = r.Float64()
	}
	return v
}
