package cpu

import (
	"math/rand/v2"
	"testing"
)

func testHashes[T number](t *testing.T, name string, of func(*loops) func(h []uint64, v []T)) {
	t.Run(name, func(t *testing.T) {
		eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
			want, got := of(goes), of(tier)
			for n := range maxLoop + 1 {
				mem.again()
				v, h := like(mem, randomNumbers[T](r, n)), like(mem, randomNumbers[uint64](r, n))
				expect := make([]uint64, n)
				copy(expect, h)
				want(expect, v)
				got(h, v)
				same(t, "hashes", n, h, expect)
				mem.intact("hashes", 8*n, 1)
			}
		})
	})
}

func TestHashLoops(t *testing.T) {
	testHashes(t, "int8", func(l *loops) func([]uint64, []int8) { return l.hash.i8 })
	testHashes(t, "int16", func(l *loops) func([]uint64, []int16) { return l.hash.i16 })
	testHashes(t, "int32", func(l *loops) func([]uint64, []int32) { return l.hash.i32 })
	testHashes(t, "int64", func(l *loops) func([]uint64, []int64) { return l.hash.i64 })
	testHashes(t, "uint8", func(l *loops) func([]uint64, []uint8) { return l.hash.u8 })
	testHashes(t, "uint16", func(l *loops) func([]uint64, []uint16) { return l.hash.u16 })
	testHashes(t, "uint32", func(l *loops) func([]uint64, []uint32) { return l.hash.u32 })
	testHashes(t, "uint64", func(l *loops) func([]uint64, []uint64) { return l.hash.u64 })
	testHashes(t, "float32", func(l *loops) func([]uint64, []float32) { return l.hash.f32 })
	testHashes(t, "float64", func(l *loops) func([]uint64, []float64) { return l.hash.f64 })
}

func benchmarkHashes[T number](b *testing.B, name string, of func(*loops) func(h []uint64, v []T)) {
	const n = 1 << 10
	h, v := make([]uint64, n), randomNumbers[T](rand.New(rand.NewPCG(1, 2)), n)
	b.Run("type="+name, func(b *testing.B) {
		benchmarkTiers(b, len(rawBytes(v))+8*n, func(l *loops) { of(l)(h, v) })
	})
}

func BenchmarkHash(b *testing.B) {
	benchmarkHashes(b, "i32", func(l *loops) func([]uint64, []int32) { return l.hash.i32 })
	benchmarkHashes(b, "i64", func(l *loops) func([]uint64, []int64) { return l.hash.i64 })
	benchmarkHashes(b, "f64", func(l *loops) func([]uint64, []float64) { return l.hash.f64 })
}
