package cpu

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/kernels/reference"
	"github.com/volley-go/volley/memory"
)

// manyRows is enough for every way of grouping.
const manyRows = 200_000

// shapes of int64 keys, each of which leads through the tables differently.
var shapes = map[string]func(r *rand.Rand, i int64) int64{
	"equal":        func(*rand.Rand, int64) int64 { return 42 },
	"distinct":     func(_ *rand.Rand, i int64) int64 { return i*7919%manyRows - 1000 },
	"sorted":       func(_ *rand.Rand, i int64) int64 { return i / 3 },
	"far sorted":   func(_ *rand.Rand, i int64) int64 { return i / 3 << 40 },
	"skewed":       func(r *rand.Rand, i int64) int64 { return int64(1 / (r.Float64() + 1e-7)) },
	"one and rest": func(r *rand.Rand, i int64) int64 { return i * int64(r.IntN(2)) << 30 },
	"extremes": func(r *rand.Rand, i int64) int64 {
		return []int64{-1 << 63, 1<<63 - 1, 0, -1, 1}[r.IntN(5)]
	},
	"wide":            func(r *rand.Rand, _ int64) int64 { return int64(r.Uint64()) },
	"powers of 2^32":  func(r *rand.Rand, _ int64) int64 { return r.Int64N(90_000) << 32 },
	"few of 2^48":     func(r *rand.Rand, _ int64) int64 { return r.Int64N(300) << 48 },
	"100k close":      func(r *rand.Rand, _ int64) int64 { return r.Int64N(100_000) },
	"70k far":         func(r *rand.Rand, _ int64) int64 { return r.Int64N(70_000) * 0x9E3779B97F4A7C1 },
	"20k far":         func(r *rand.Rand, _ int64) int64 { return r.Int64N(20_000) * 0x9E3779B97F4A7C1 },
	"30k far":         func(r *rand.Rand, _ int64) int64 { return r.Int64N(30_000) * 0x9E3779B97F4A7C1 },
	"few, then many":  func(r *rand.Rand, i int64) int64 { return i % 5 * max(1, i-manyRows/2) << 20 },
	"clustered":       func(_ *rand.Rand, i int64) int64 { return i / 100 << 33 },
	"runs all over":   func(_ *rand.Rand, i int64) int64 { return i / 49 * 7919 % 4096 },
	"sparse in range": func(r *rand.Rand, _ int64) int64 { return r.Int64N(4 * manyRows) },
}

func makeColumn(t testing.TB, typ arrow.DataType, n int, f func(i int) kernels.Scalar) *memory.Column {
	t.Helper()
	values := make([]kernels.Scalar, n)
	for i := range values {
		values[i] = f(i)
	}
	c, err := kernels.FromScalars(memory.Heap, typ, values)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Release)
	return c
}

// eachBackend calls f with the reference and then with the generic tier on 1,
// 2 and 7 threads, and holds what it gives against each other. Under the race
// detector it calls it once, on 7 threads.
func eachBackend(t *testing.T, tol kerneltest.Tolerance, f func(b *kernels.Backend) ([]*memory.Column, error)) {
	t.Helper()
	old := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(old)
	b := onlyGroups(t)
	if raceDetector { // it asks whether workers meet, not for answers, and makes the reference ten times slower
		runtime.GOMAXPROCS(7)
		if _, err := f(b); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := f(&kernels.Backend{Device: b.Device, Set: reference.New()})
	if err != nil {
		t.Fatal(err)
	}
	var first []*memory.Column
	for _, threads := range []int{2, 1, 7} {
		runtime.GOMAXPROCS(threads)
		got, err := f(b)
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if err := kerneltest.Equal(got[i], want[i], tol); err != nil {
				t.Fatalf("%d threads, column %d: %v", threads, i, err)
			}
			if first == nil {
				continue
			}
			if err := kerneltest.Equal(got[i], first[i], kerneltest.Tolerance{}); err != nil {
				t.Fatalf("%d threads, column %d is not what 2 threads gave: %v", threads, i, err)
			}
		}
		if first == nil {
			first = got
		}
	}
}

// shapedColumn is a column of n int64 keys of a shape.
func shapedColumn(t *testing.T, r *rand.Rand, n int, shape func(r *rand.Rand, i int64) int64) *memory.Column {
	t.Helper()
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = shape(r, int64(i))
	}
	c := fixedColumn(t, arrow.PrimitiveTypes.Int64, keys)
	t.Cleanup(c.Release)
	return c
}

func TestGroupShapes(t *testing.T) {
	values := floatsWithNulls(t, manyRows)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		shape := shapes[name]
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			keys := shapedColumn(t, r, manyRows, shape)
			ctx := context.Background()
			eachBackend(t, kerneltest.Tolerance{Abs: 1e-6, Rel: 1e-11}, func(b *kernels.Backend) ([]*memory.Column, error) {
				s, err := b.NewStream()
				if err != nil {
					return nil, err
				}
				defer s.Close()
				one := []*memory.Column{keys}
				g, err := b.Group(ctx, s, one, kernels.GroupOptions{})
				if err != nil {
					return nil, err
				}
				u, err := b.Unique(ctx, s, one, kernels.GroupOptions{})
				if err != nil {
					return nil, err
				}
				by, err := b.GroupBy(ctx, s, one, []kernels.Aggregate{
					{Op: kernels.CountAll}, {Op: kernels.Sum, Values: values}, {Op: kernels.Var, Values: values},
					{Op: kernels.Max, Values: values}, {Op: kernels.Last, Values: keys},
				}, kernels.GroupOptions{})
				if err != nil {
					return nil, err
				}
				a, err := b.Aggregate(ctx, s, kernels.Std, values, g.IDs, g.N, kernels.AggregateOptions{})
				if err != nil {
					return nil, err
				}
				return append([]*memory.Column{g.IDs, g.First, u, by.First, a}, by.Values...), nil
			})
		})
	}
}

func TestJoinShapes(t *testing.T) {
	n := 0
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		shape := shapes[name]
		rows := 2000
		switch name {
		case "equal", "extremes", "skewed", "one and rest", "few, then many":
			rows = 12 // of a key that half of all rows have
		}
		for kind := kernels.InnerJoin; kind <= kernels.AntiJoin; kind++ {
			if n++; n%3 != 0 && kind != kernels.FullJoin {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", name, kind), func(t *testing.T) {
				r := rand.New(rand.NewPCG(3, 4))
				right, left := shapedColumn(t, r, rows, shape), shapedColumn(t, r, manyRows, shape)
				if kind%2 == 1 {
					left, right = right, left
				}
				ctx := context.Background()
				eachBackend(t, kerneltest.Tolerance{}, func(b *kernels.Backend) ([]*memory.Column, error) {
					s, err := b.NewStream()
					if err != nil {
						return nil, err
					}
					defer s.Close()
					table, err := b.JoinBuild(ctx, s, []*memory.Column{right}, kernels.JoinOptions{})
					if err != nil {
						return nil, err
					}
					defer table.Release()
					p, err := table.Probe(ctx, s, []*memory.Column{left}, kind, kernels.JoinOptions{})
					if err != nil {
						return nil, err
					}
					semi, err := table.Probe(ctx, s, []*memory.Column{left}, kernels.SemiJoin, kernels.JoinOptions{})
					if err != nil {
						return nil, err
					}
					if p.Right == nil {
						return []*memory.Column{p.Left, semi.Left}, nil
					}
					return []*memory.Column{p.Left, p.Right, semi.Left}, nil
				})
			})
		}
	}
}
