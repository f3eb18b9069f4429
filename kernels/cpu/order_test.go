package cpu

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

const testSeed = 20261121

// counted is a backend whose memory is counted, and a stream of it; the test
// fails where anything leaked.
func counted(t testing.TB) (*kernels.Backend, device.Stream, *memory.Counted) {
	t.Helper()
	count := memory.NewCounted(memory.Heap)
	d := host.New(host.WithAllocator(count))
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, err := range []error{s.Close(), d.Close(), count.Check()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return &kernels.Backend{Device: d, Set: Generic()}, s, count
}

func fixedColumn[T any](t testing.TB, typ arrow.DataType, v []T) *memory.Column {
	t.Helper()
	b, err := memory.New(memory.Heap, int64(len(v)*memory.Width(typ)))
	if err != nil {
		t.Fatal(err)
	}
	copy(memory.View[T](b), v)
	c, err := memory.NewColumn(memory.Parts{Type: typ, Len: int64(len(v)), Buffers: []*memory.Buffer{nil, b}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Rows of 64 bits, which only columns of 2^32 rows have, sort as those of 32.
func TestSortWideRows(t *testing.T) {
	_, s, _ := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 1))
	for _, n := range []int{0, 1, 100, 5000, bigRows + 999} {
		v := make([]int64, n)
		for i := range v {
			v[i] = r.Int64N(int64(n)/2+1) - 7
		}
		c := fixedColumn(t, arrow.PrimitiveTypes.Int64, v)
		for _, key := range []kernels.SortKey{{Values: c}, {Values: c, Descending: true}} {
			keys := []kernels.SortKey{key, {Values: c}}
			narrow, err := plan[uint32](context.Background(), goLoops(), s, keys)
			if err != nil {
				t.Fatal(err)
			}
			wide, err := plan[uint64](context.Background(), goLoops(), s, keys)
			if err != nil {
				t.Fatal(err)
			}
			a, b := make([]uint32, n), make([]uint64, n)
			if err := sortRows(context.Background(), goLoops(), s, narrow, a, false); err != nil {
				t.Fatal(err)
			}
			if err := sortRows(context.Background(), goLoops(), s, wide, b, false); err != nil {
				t.Fatal(err)
			}
			want := make([]int, n)
			for i := range want {
				want[i] = i
			}
			slices.SortStableFunc(want, func(i, j int) int {
				if key.Descending {
					i, j = j, i
				}
				return cmp.Compare(v[i], v[j])
			})
			for i, w := range want {
				if int(a[i]) != w || int(b[i]) != w {
					t.Fatalf("n=%d descending=%v seed=%d: place %d: rows %d and %d, want %d", n, key.Descending, testSeed, i, a[i], b[i], w)
				}
			}
		}
		c.Release()
	}
}

// The greatest memory of a sort is its result and two buffers of keys and one
// of rows.
func TestSortMemory(t *testing.T) {
	b, s, count := counted(t)
	const n = 300_000
	r := rand.New(rand.NewPCG(testSeed, 2))
	v := make([]uint64, n)
	for i := range v {
		v[i] = r.Uint64()
	}
	c := fixedColumn(t, arrow.PrimitiveTypes.Uint64, v)
	defer c.Release()
	rows, err := b.SortIndices(context.Background(), s, []kernels.SortKey{{Values: c}})
	if err != nil {
		t.Fatal(err)
	}
	rows.Release()
	if peak := count.Stats().Peak; peak > n*(4+8+8+4)+4*memory.Alignment {
		t.Errorf("sorting %d words took %d bytes", n, peak)
	}
}

// The sum of floats keeps the bound that its contract states, by exact
// arithmetic, also where values cancel.
func TestSumBound(t *testing.T) {
	b, s, _ := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 3))
	for _, n := range []int{1, 511, 512, 513, 70_000, 400_001} {
		v := make([]float64, n)
		exact, size := new(big.Float).SetPrec(2000), 0.0
		for i := range v {
			v[i] = r.NormFloat64() * math.Ldexp(1, r.IntN(60))
			exact.Add(exact, big.NewFloat(v[i]))
			size += math.Abs(v[i])
		}
		c := fixedColumn(t, arrow.PrimitiveTypes.Float64, v)
		got := reduceOne(t, b, s, kernels.Sum, c)
		c.Release()
		diff, _ := exact.Sub(exact, big.NewFloat(got)).Float64()
		if math.Abs(diff) > 1e-14*size {
			t.Errorf("n=%d seed=%d: the sum is off by %g of %g", n, testSeed, diff, size)
		}
	}
}

func reduceOne(t *testing.T, b *kernels.Backend, s device.Stream, op kernels.Aggregation, c *memory.Column) float64 {
	t.Helper()
	out, err := b.Reduce(context.Background(), s, op, c, kernels.AggregateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Release()
	return kernels.ScalarAt(out, 0).Float64()
}

// The number of threads changes no bit of a float.
func TestFloatsByThreads(t *testing.T) {
	b, s, _ := counted(t)
	r := rand.New(rand.NewPCG(testSeed, 4))
	const rows, cols = 60_001, 5
	v := make([]float64, rows*cols)
	for i := range v {
		v[i] = r.NormFloat64() * math.Ldexp(1, r.IntN(30))
	}
	c := fixedColumn(t, arrow.PrimitiveTypes.Float64, v)
	defer c.Release()
	a := kernels.Matrix{Data: c.Buffer(1), Type: c.Type(), Rows: rows, Cols: cols, Stride: cols}
	var first []uint64
	for _, threads := range []int{2, 1, 7} {
		old := runtime.GOMAXPROCS(threads)
		var all []uint64
		for _, op := range []kernels.Aggregation{kernels.Sum, kernels.Mean, kernels.Var, kernels.Product} {
			all = append(all, math.Float64bits(reduceOne(t, b, s, op, c)))
		}
		scanned, err := b.Scan(context.Background(), s, kernels.CumulativeSum, c, kernels.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range memory.Values[float64](scanned) {
			all = append(all, math.Float64bits(x))
		}
		scanned.Release()
		product := fixedColumn(t, c.Type(), make([]float64, cols*cols))
		m := kernels.Matrix{Data: product.Buffer(1), Type: c.Type(), Rows: cols, Cols: cols, Stride: cols}
		if err := b.GEMM(context.Background(), s, true, false, 1, a, a, 0, m); err != nil {
			t.Fatal(err)
		}
		for _, x := range memory.Values[float64](product) {
			all = append(all, math.Float64bits(x))
		}
		product.Release()
		runtime.GOMAXPROCS(old)
		if first == nil {
			first = all
		} else if !slices.Equal(all, first) {
			t.Errorf("%d threads give other bits than 2 (seed %d)", threads, testSeed)
		}
	}
}

// Distinct values are counted by value, not by bits.
func TestCountDistinct(t *testing.T) {
	b, s, _ := counted(t)
	nan := math.Float64frombits(0x7ff8_0000_0000_0005)
	c := fixedColumn(t, arrow.PrimitiveTypes.Float64, []float64{1, math.NaN(), nan, 0, math.Copysign(0, -1), 1, 2})
	defer c.Release()
	out, err := b.Reduce(context.Background(), s, kernels.CountDistinct, c, kernels.AggregateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Release()
	if got := fmt.Sprint(kernels.Scalars(out)); got != "[4]" {
		t.Errorf("1, NaN, NaN, 0, -0, 1, 2 have %s distinct values, want [4]", got)
	}
}
