package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func testComparisons[T number](t *testing.T, name string) {
	t.Run(name, func(t *testing.T) {
		eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
			want, got := comparisonsOf[T](goes), comparisonsOf[T](tier)
			for n := range maxLoop + 1 {
				mem.again()
				a, b := like(mem, randomNumbers[T](r, n)), like(mem, randomNumbers[T](r, n))
				for i := range b {
					if r.IntN(3) == 0 {
						b[i] = a[i]
					}
				}
				v := T(r.IntN(100))
				if n > 0 && r.IntN(2) == 0 {
					v = a[r.IntN(n)]
				}
				expect := make([]byte, (n+7)/8)
				dst := room[byte](mem, len(expect))
				for op, loop := range want.scalar {
					loop(expect, a, v)
					got.scalar[op](dst, a, v)
					same(t, fmt.Sprint("scalar comparison ", op), n, dst, expect)
				}
				for op, loop := range want.columns {
					loop(expect, a, b)
					got.columns[op](dst, a, b)
					same(t, fmt.Sprint("comparison ", op), n, dst, expect)
				}
				mem.intact("a comparison", len(dst), 2)
			}
		})
	})
}

func TestCompareLoops(t *testing.T) {
	testComparisons[int8](t, "int8")
	testComparisons[int16](t, "int16")
	testComparisons[int32](t, "int32")
	testComparisons[int64](t, "int64")
	testComparisons[uint8](t, "uint8")
	testComparisons[uint16](t, "uint16")
	testComparisons[uint32](t, "uint32")
	testComparisons[uint64](t, "uint64")
	testComparisons[float32](t, "float32")
	testComparisons[float64](t, "float64")
}

func BenchmarkLessScalarFloat64(b *testing.B) {
	v, dst := make([]float64, morsel), make([]byte, morsel/8)
	benchmarkTiers(b, 8*len(v), func(l *loops) { l.compare.f64.scalar[2](dst, v, 1) })
}
