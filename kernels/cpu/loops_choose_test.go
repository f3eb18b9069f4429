package cpu

import (
	"math/rand/v2"
	"testing"
)

func testChooser[T unsigned](t *testing.T, name string) {
	t.Run(name, func(t *testing.T) {
		eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
			want, got := chooserOf[T](goes), chooserOf[T](tier)
			for n := range maxLoop + 1 {
				mem.again()
				p, q, mask := like(mem, randomNumbers[T](r, n)), like(mem, randomNumbers[T](r, n)), like(mem, randomBytes(r, (n+7)/8))
				dst, expect := room[T](mem, n), make([]T, n)
				want(expect, p, q, mask)
				got(dst, p, q, mask)
				same(t, "a choice", n, dst, expect)
				mem.intact("a choice", len(rawBytes(dst)), 3)
			}
		})
	})
}

func TestChooseLoops(t *testing.T) {
	testChooser[uint8](t, "uint8")
	testChooser[uint16](t, "uint16")
	testChooser[uint32](t, "uint32")
	testChooser[uint64](t, "uint64")
}

func BenchmarkChoose(b *testing.B) {
	const n = 1 << 12
	dst, p, q, mask := make([]uint64, n), make([]uint64, n), make([]uint64, n), randomBytes(rand.New(rand.NewPCG(1, 2)), n/8)
	benchmarkTiers(b, 3*8*n, func(l *loops) { l.choose.u64(dst, p, q, mask) })
}
