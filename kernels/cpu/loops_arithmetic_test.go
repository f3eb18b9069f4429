package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/volley-go/volley/kernels"
)

// numbersFor draws numbers of which many do not fit a sum or difference, and
// many do.
func numbersFor[T number](r *rand.Rand, mem *guarded, n int) (a, b []T) {
	a, b = like(mem, randomNumbers[T](r, n)), like(mem, randomNumbers[T](r, n))
	for i := range a {
		switch r.IntN(8) {
		case 0:
			b[i] = a[i]
		case 1:
			a[i], b[i] = leastNumber[T](), T(r.IntN(3))
		case 2:
			a[i], b[i] = T(r.IntN(3)), greatestNumber[T]()
		}
		if b[i] != b[i] { // which of two NaNs is given is nobody's to say
			b[i] = 1
		}
	}
	return a, b
}

func testArithmetics[T number](t *testing.T, name string) {
	t.Run(name, func(t *testing.T) {
		eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
			want, got := arithmeticsOf[T](goes), arithmeticsOf[T](tier)
			for n := range 2 * maxLoop {
				mem.again()
				a, b := numbersFor[T](r, mem, n)
				dst, expect := room[T](mem, n), make([]T, n)
				v := T(r.IntN(100))
				if n > 0 {
					v = b[r.IntN(n)]
				}
				check := func(form string, op int) {
					t.Helper()
					same(t, fmt.Sprint(form, kernels.ArithmeticOp(op)), n, dst, expect)
				}
				for op, loop := range want.columns {
					if loop != nil {
						loop(expect, a, b)
						got.columns[op](dst, a, b)
						check("columns ", op)
						want.right[op](expect, a, v)
						got.right[op](dst, a, v)
						check("value right ", op)
					}
				}
				for op, loop := range want.left {
					if loop != nil {
						loop(expect, v, b)
						got.left[op](dst, v, b)
						check("value left ", op)
					}
				}
				for op, loop := range want.checked {
					if loop == nil {
						continue
					}
					x, y := a, b
					for pass := range 2 { // with what does not fit, and with at most one such
						bad := loop(expect, x, y)
						if found := got.checked[op](dst, x, y); found != bad {
							t.Fatalf("checked %s of %d, pass %d: %v, not %v", kernels.ArithmeticOp(op), n, pass, found, bad)
						}
						check("checked ", op)
						x, y = like(mem, x), like(mem, y)
						for i := range x {
							x[i], y[i] = 100, T(r.IntN(20))
						}
						if n > 0 && r.IntN(2) == 0 {
							i := r.IntN(n)
							x[i], y[i] = a[i], b[i]
						}
					}
				}
				mem.intact("arithmetic", len(rawBytes(dst)), 2)
			}
		})
	})
}

func TestArithmeticLoops(t *testing.T) {
	testArithmetics[int8](t, "int8")
	testArithmetics[int16](t, "int16")
	testArithmetics[int32](t, "int32")
	testArithmetics[int64](t, "int64")
	testArithmetics[uint8](t, "uint8")
	testArithmetics[uint16](t, "uint16")
	testArithmetics[uint32](t, "uint32")
	testArithmetics[uint64](t, "uint64")
	testArithmetics[float32](t, "float32")
	testArithmetics[float64](t, "float64")
}

func benchmarkArithmetics[T number](b *testing.B, name string) {
	const n = 1 << 12
	dst, x, y := make([]T, n), make([]T, n), make([]T, n)
	for i := range x {
		x[i], y[i] = T(i%50), T(i%7+1)
	}
	size := len(rawBytes(dst))
	for op, loop := range arithmeticsOf[T](goLoops()).columns {
		if loop != nil {
			b.Run(fmt.Sprintf("type=%s/op=%s", name, [...]string{"add", "subtract", "multiply", "divide"}[op]), func(b *testing.B) {
				benchmarkTiers(b, 3*size, func(l *loops) { arithmeticsOf[T](l).columns[op](dst, x, y) })
			})
		}
	}
	if loop := arithmeticsOf[T](goLoops()).checked[0]; loop != nil {
		b.Run(fmt.Sprintf("type=%s/op=add_checked", name), func(b *testing.B) {
			benchmarkTiers(b, 3*size, func(l *loops) { arithmeticsOf[T](l).checked[0](dst, x, y) })
		})
	}
}

func BenchmarkArithmetic(b *testing.B) {
	benchmarkArithmetics[int8](b, "i8")
	benchmarkArithmetics[uint16](b, "u16")
	benchmarkArithmetics[int32](b, "i32")
	benchmarkArithmetics[uint64](b, "u64")
	benchmarkArithmetics[float32](b, "f32")
	benchmarkArithmetics[float64](b, "f64")
}

// The loops for those who have vectors are those of the columns, for every type.
func TestColumns(t *testing.T) {
	vectors[int8](t)
	vectors[int16](t)
	vectors[int32](t)
	vectors[int64](t)
	vectors[uint8](t)
	vectors[uint16](t)
	vectors[uint32](t)
	vectors[uint64](t)
	vectors[float32](t)
	vectors[float64](t)
}

func vectors[T number](t *testing.T) {
	a, b, dst := make([]T, 77), make([]T, 77), make([]T, 77)
	for i := range a {
		a[i], b[i] = T(i), T(i%5)
	}
	for op, want := range map[kernels.ArithmeticOp]func(x, y T) T{
		kernels.Add:      func(x, y T) T { return x + y },
		kernels.Subtract: func(x, y T) T { return x - y },
		kernels.Multiply: func(x, y T) T { return x * y },
	} {
		Columns[T](op)(dst, a, b)
		for i := range dst {
			if dst[i] != want(a[i], b[i]) {
				t.Fatalf("%T: op %d of %v and %v is %v", a, op, a[i], b[i], dst[i])
			}
		}
	}
}
