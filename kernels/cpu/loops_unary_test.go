package cpu

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/volley-go/volley/kernels"
)

// roundable replaces some values by those that rounding has trouble with.
func roundable[T signed | float](r *rand.Rand, v []T) []T {
	hard := []float64{0.5, -0.5, 1.5, 2.5, math.Nextafter(0.5, 0), float64(math.Nextafter32(0.5, 0)), 1 << 52, 1<<52 + 1, 1<<23 - 0.5, -0.25}
	for i := range v {
		switch r.IntN(6) {
		case 0:
			v[i] = T(hard[r.IntN(len(hard))])
		case 1:
			v[i] = leastNumber[T]()
		}
	}
	return v
}

func testUnaries[T signed | float](t *testing.T, name string) {
	t.Run(name, func(t *testing.T) {
		eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
			want, got := unariesOf[T](goes), unariesOf[T](tier)
			for n := range 2 * maxLoop {
				mem.again()
				a := like(mem, randomNumbers[T](r, n))
				if r.IntN(2) == 0 {
					roundable(r, a)
				}
				dst, expect := room[T](mem, n), make([]T, n)
				for op, loop := range want.float {
					if loop != nil {
						loop(expect, a)
						got.float[op](dst, a)
						same(t, kernels.UnaryOp(op).String(), n, dst, expect)
					}
				}
				for op, loop := range want.signed {
					if loop != nil {
						least := loop(expect, a)
						if found := got.signed[op](dst, a); found != least {
							t.Fatalf("%s of %d: the least is there: %v, not %v", kernels.UnaryOp(op), n, found, least)
						}
						same(t, kernels.UnaryOp(op).String(), n, dst, expect)
					}
				}
				mem.intact("an operation", len(rawBytes(dst)), 1)
			}
		})
	})
}

func TestUnaryLoops(t *testing.T) {
	testUnaries[int8](t, "int8")
	testUnaries[int16](t, "int16")
	testUnaries[int32](t, "int32")
	testUnaries[int64](t, "int64")
	testUnaries[float32](t, "float32")
	testUnaries[float64](t, "float64")
}

func benchmarkUnaries[T signed | float](b *testing.B, name string) {
	dst, v := make([]T, 1<<12), randomNumbers[T](rand.New(rand.NewPCG(1, 2)), 1<<12)
	for i := range v {
		v[i] = T(i%50 - 20)
	}
	of := func(op int) string {
		return "type=" + name + "/op=" + strings.ReplaceAll(kernels.UnaryOp(op).String(), "-", "negate")
	}
	u := unariesOf[T](goLoops())
	for op, loop := range u.float {
		if loop != nil && op != int(kernels.Exp) && op != int(kernels.Log) {
			b.Run(of(op), func(b *testing.B) {
				benchmarkTiers(b, 2*len(rawBytes(v)), func(l *loops) { unariesOf[T](l).float[op](dst, v) })
			})
		}
	}
	for op, loop := range u.signed {
		if loop != nil {
			b.Run(of(op), func(b *testing.B) {
				benchmarkTiers(b, 2*len(rawBytes(v)), func(l *loops) { unariesOf[T](l).signed[op](dst, v) })
			})
		}
	}
}

func BenchmarkUnary(b *testing.B) {
	benchmarkUnaries[int8](b, "i8")
	benchmarkUnaries[int32](b, "i32")
	benchmarkUnaries[int64](b, "i64")
	benchmarkUnaries[float32](b, "f32")
	benchmarkUnaries[float64](b, "f64")
}
