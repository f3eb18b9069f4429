package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/volley-go/volley/kernels"
)

// randomNumbers are n values of a few kinds: any bits, small ones with many
// equal, and for floats NaNs, infinities and zeros of both signs.
func randomNumbers[T number](r *rand.Rand, n int) []T {
	v := make([]T, n)
	b := rawBytes(v)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1}
	var t T
	_, double := any(t).(float64)
	_, single := any(t).(float32)
	kind := r.IntN(3)
	for i := range v {
		switch {
		case kind == 0 && (double || single) && r.IntN(4) == 0:
			v[i] = T(special[r.IntN(len(special))])
		case kind == 1:
			v[i] = T(r.IntN(100))
		case kind == 2 && (double || single):
			v[i] = T(r.NormFloat64())
		}
	}
	return v
}

// sameNumber takes any NaN for any other, and zeros of both signs for equal.
func sameNumber[T number](a, b T) bool { return a == b || a != a && b != b }

func testReductions[T number](t *testing.T, name string) {
	t.Run(name, func(t *testing.T) {
		eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
			want, got := reductionsOf[T](goes), reductionsOf[T](tier)
			for k := range 2 * maxLoop {
				n := k + k/maxLoop*2*k
				mem.again()
				v, valid := like(mem, randomNumbers[T](r, n)), like(mem, randomBytes(r, (n+7)/8))
				best := T(r.IntN(100))
				for _, w := range []T{best, leastNumber[T](), greatestNumber[T]()} {
					for i, pair := range [][2]T{
						{got.least(v, w), want.least(v, w)}, {got.greatest(v, w), want.greatest(v, w)},
						{got.leastValid(v, valid, w), want.leastValid(v, valid, w)}, {got.greatestValid(v, valid, w), want.greatestValid(v, valid, w)},
					} {
						if !sameNumber(pair[0], pair[1]) {
							t.Fatalf("extreme %d of %d: %v, not %v", i, n, pair[0], pair[1])
						}
					}
				}
				low, high := got.extremes(v, greatestNumber[T](), leastNumber[T]())
				if l, h := want.extremes(v, greatestNumber[T](), leastNumber[T]()); !sameNumber(low, l) || !sameNumber(high, h) {
					t.Fatalf("extremes of %d: %v and %v, not %v and %v", n, low, high, l, h)
				}
				if want.sum == nil {
					continue
				}
				if g, w := got.sum(v), want.sum(v); g != w {
					t.Fatalf("sum of %d: %d, not %d", n, g, w)
				}
				if g, w := got.sumValid(v, valid), want.sumValid(v, valid); g != w {
					t.Fatalf("sum of the valid ones of %d: %d, not %d", n, g, w)
				}
			}
		})
	})
}

func TestReduceLoops(t *testing.T) {
	testReductions[int8](t, "int8")
	testReductions[int16](t, "int16")
	testReductions[int32](t, "int32")
	testReductions[int64](t, "int64")
	testReductions[uint8](t, "uint8")
	testReductions[uint16](t, "uint16")
	testReductions[uint32](t, "uint32")
	testReductions[uint64](t, "uint64")
	testReductions[float32](t, "float32")
	testReductions[float64](t, "float64")
}

// TestReduceBlocksLoops holds the sums in the fixed shape to the same bits.
func TestReduceBlocksLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, want, got *loops, r *rand.Rand, mem *guarded) {
		for round := range 60 {
			n := round % 4
			rows := n * kernels.ReduceBlock
			v := randomNumbers[float64](r, rows)
			for i := range v {
				if round%3 != 0 && v[i]-v[i] != 0 {
					v[i] = r.ExpFloat64() // no NaN, no infinity
				}
			}
			mem.again()
			v, valid := like(mem, v), like(mem, randomBytes(r, rows/8))
			mean := r.NormFloat64()
			var g, w [6][]float64
			for i := range g {
				g[i], w[i] = room[float64](mem, n), make([]float64, n)
			}
			run := func(l *loops, d [6][]float64) {
				l.reduce.sumBlocks(d[0], v)
				l.reduce.sumBlocksValid(d[1], v, valid)
				l.reduce.deviateBlocks(d[2], d[3], v, mean)
				l.reduce.deviateBlocksValid(d[4], d[5], v, valid, mean)
			}
			run(got, g)
			run(want, w)
			for i := range g {
				for k := range g[i] {
					if math.Float64bits(g[i][k]) != math.Float64bits(w[i][k]) && !(g[i][k] != g[i][k] && w[i][k] != w[i][k]) {
						t.Fatalf("sum %d of block %d of %d: %v, not %v", i, k, n, g[i][k], w[i][k])
					}
				}
				mem.intact("sums", 8*n, i+2)
			}
		}
	})
}

func benchmarkTiers(b *testing.B, bytes int, f func(l *loops)) {
	names, all := available()
	for i, l := range all {
		b.Run("tier="+names[i], func(b *testing.B) {
			b.SetBytes(int64(bytes))
			for b.Loop() {
				f(l)
			}
		})
	}
}

func BenchmarkSumBlocks(b *testing.B) {
	v, dst := make([]float64, morsel), make([]float64, morselBlocks)
	benchmarkTiers(b, 8*len(v), func(l *loops) { l.reduce.sumBlocks(dst, v) })
}

func BenchmarkSumValidInt64(b *testing.B) {
	v, valid := make([]int64, morsel), randomBytes(rand.New(rand.NewPCG(1, 2)), morsel/8)
	benchmarkTiers(b, 8*len(v), func(l *loops) { l.reduce.i64.sumValid(v, valid) })
}

func BenchmarkGreatestFloat64(b *testing.B) {
	v := make([]float64, morsel)
	benchmarkTiers(b, 8*len(v), func(l *loops) { l.reduce.f64.greatest(v, 1) })
}

// BenchmarkSumStream sums what no cache holds, on every core.
func BenchmarkSumStream(b *testing.B) {
	v := make([]float64, 1<<24)
	for i := range v {
		v[i] = float64(i)
	}
	benchmarkTiers(b, 8*len(v), func(l *loops) {
		if err := parallel(b.Context(), int64(len(v)), func(_ int, s span) error {
			l.reduce.sumBlocks(make([]float64, morselBlocks), v[s.from:s.to])
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	})
}
