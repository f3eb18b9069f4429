package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
)

// convertible draws numbers at and around the limits of the others' types among
// such as all of them have.
func convertible[T number](r *rand.Rand, n int) []T {
	v := randomNumbers[T](r, n)
	hard := []float64{math.MaxInt32, math.MinInt32, 1 << 31, -(1 << 31) - 1, math.MaxInt32 + 0.5, math.MinInt32 - 0.5, 1 << 62, -(1 << 63), 1 << 53, 0.5,
		1 << 63, -(1<<63 + 2048), math.MaxFloat32, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)}
	kind := r.IntN(4)
	for i := range v {
		switch {
		case kind == 0 || kind == 1 && r.IntN(40) > 0:
			v[i] = T(r.IntN(100))
		case r.IntN(3) == 0:
			v[i] = T(hard[r.IntN(len(hard))])
		case r.IntN(4) == 0:
			v[i] = greatestNumber[T]() - T(r.IntN(1000))
		}
	}
	return v
}

func testConversion[F, T number](t *testing.T, name string, of func(*convertLoops) func(dst []T, src []F) bool) {
	t.Run(name, func(t *testing.T) {
		eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
			want, got := of(&goes.convert), of(&tier.convert)
			bads := 0
			for k := range 2 * maxLoop {
				n := k % (maxLoop + 1)
				mem.again()
				src := like(mem, convertible[F](r, n))
				dst, expect := room[T](mem, n), make([]T, n)
				bad := want(expect, src)
				if found := got(dst, src); found != bad {
					t.Fatalf("of %d: some do not fit: %v, not %v: %v", n, found, bad, src)
				}
				if bad {
					bads++
				}
				same(t, "a conversion", n, dst, expect)
				mem.intact("a conversion", len(rawBytes(dst)), 1)
			}
			if bads == 2*maxLoop {
				t.Error("no slice of values that all fit was tried")
			}
		})
	})
}

func TestConvertLoops(t *testing.T) {
	testConversion(t, "int32 to int64", func(l *convertLoops) func([]int64, []int32) bool { return l.i32ToI64 })
	testConversion(t, "int32 to float64", func(l *convertLoops) func([]float64, []int32) bool { return l.i32ToF64 })
	testConversion(t, "float32 to float64", func(l *convertLoops) func([]float64, []float32) bool { return l.f32ToF64 })
	testConversion(t, "float64 to float32", func(l *convertLoops) func([]float32, []float64) bool { return l.f64ToF32 })
	testConversion(t, "int64 to int32", func(l *convertLoops) func([]int32, []int64) bool { return l.i64ToI32 })
	testConversion(t, "float64 to int32", func(l *convertLoops) func([]int32, []float64) bool { return l.f64ToI32 })
	testConversion(t, "int64 to float64", func(l *convertLoops) func([]float64, []int64) bool { return l.i64ToF64 })
	testConversion(t, "float64 to int64", func(l *convertLoops) func([]int64, []float64) bool { return l.f64ToI64 })
}

func benchmarkConversion[F, T number](b *testing.B, name string, of func(*convertLoops) func(dst []T, src []F) bool) {
	const n = 1 << 12
	dst, src := make([]T, n), make([]F, n)
	for i := range src {
		src[i] = F(i)
	}
	b.Run(name, func(b *testing.B) {
		benchmarkTiers(b, len(rawBytes(dst))+len(rawBytes(src)), func(l *loops) { of(&l.convert)(dst, src) })
	})
}

func BenchmarkConvert(b *testing.B) {
	benchmarkConversion(b, "from=i32/to=i64", func(l *convertLoops) func([]int64, []int32) bool { return l.i32ToI64 })
	benchmarkConversion(b, "from=i32/to=f64", func(l *convertLoops) func([]float64, []int32) bool { return l.i32ToF64 })
	benchmarkConversion(b, "from=f32/to=f64", func(l *convertLoops) func([]float64, []float32) bool { return l.f32ToF64 })
	benchmarkConversion(b, "from=f64/to=f32", func(l *convertLoops) func([]float32, []float64) bool { return l.f64ToF32 })
	benchmarkConversion(b, "from=i64/to=i32", func(l *convertLoops) func([]int32, []int64) bool { return l.i64ToI32 })
	benchmarkConversion(b, "from=f64/to=i32", func(l *convertLoops) func([]int32, []float64) bool { return l.f64ToI32 })
	benchmarkConversion(b, "from=i64/to=f64", func(l *convertLoops) func([]float64, []int64) bool { return l.i64ToF64 })
	benchmarkConversion(b, "from=f64/to=i64", func(l *convertLoops) func([]int64, []float64) bool { return l.f64ToI64 })
}
