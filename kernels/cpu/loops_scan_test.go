package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// blocksOf gives whole blocks of values against unmapped memory, a copy of v, and
// gives them back when done is called, which looks whether anything beside them
// was written.
func blocksOf(mem *guarded, v []float64) (b []float64, done func()) {
	block, err := mem.alloc.Allocate(int64(8 * len(v)))
	if err != nil {
		mem.t.Fatal(err)
	}
	buffer := memory.Wrap(block.Bytes, nil)
	b = memory.View[float64](buffer)
	copy(b, v)
	return b, func() { mem.alloc.Free(block) }
}

func TestScanLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
		for blocks := range 18 {
			n := blocks * kernels.ScanBlock
			mem.again()
			given, done := blocksOf(mem, randomNumbers[float64](r, n))
			before := like(mem, randomNumbers[float64](r, blocks))
			totals, want := room[float64](mem, blocks), make([]float64, blocks)
			goes.scan64.totals(want, given, nil)
			tier.scan64.totals(totals, given, given)
			same(t, "totals", blocks, totals, want)
			mem.intact("totals", 8*blocks, 1)
			expect := make([]float64, n)
			goes.scan64.along(expect, given, before)
			past := func(dst, v, before []float64) { tier.scan64.alongPast(dst, v, before, given) }
			for name, loop := range map[string]func(dst, v, before []float64){"along": tier.scan64.along, "along past the caches": past} {
				got, end := blocksOf(mem, make([]float64, n))
				loop(got, given, before)
				same(t, name, blocks, got, expect)
				copy(got, given)
				loop(got, got, before)
				same(t, name+" in place", blocks, got, expect)
				end()
			}
			done()
		}
	})
}

func BenchmarkScan(b *testing.B) {
	v, dst := make([]float64, morsel), make([]float64, morsel)
	before := make([]float64, morsel/kernels.ScanBlock)
	b.Run("totals", func(b *testing.B) {
		benchmarkTiers(b, 8*morsel, func(l *loops) { l.scan64.totals(before, v, v) })
	})
	b.Run("along", func(b *testing.B) {
		benchmarkTiers(b, 8*morsel, func(l *loops) { l.scan64.along(dst, v, before) })
	})
	b.Run("past", func(b *testing.B) {
		benchmarkTiers(b, 8*morsel, func(l *loops) { l.scan64.alongPast(dst, v, before, v) })
	})
}
