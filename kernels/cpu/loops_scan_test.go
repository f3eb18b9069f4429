package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// blocksOf gives whole blocks of values against unmapped memory, a copy of v, and
// gives them back when done is called, which looks whether anything beside them
// was written.
func blocksOf[T any](mem *guarded, v []T) (b []T, done func()) {
	block, err := mem.alloc.Allocate(int64(len(rawBytes(v))))
	if err != nil {
		mem.t.Fatal(err)
	}
	buffer := memory.Wrap(block.Bytes, nil)
	b = memory.View[T](buffer)
	copy(b, v)
	return b, func() { mem.alloc.Free(block) }
}

func TestScanLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
		for blocks := range 18 {
			sameScans(t, blocks, &goes.scan32, &tier.scan32, r, mem)
			sameScans(t, blocks, &goes.scan64, &tier.scan64, r, mem)
		}
	})
}

func sameScans[T float](t *testing.T, blocks int, goes, tier *scanLoops[T], r *rand.Rand, mem *guarded) {
	n := blocks * kernels.ScanBlock
	mem.again()
	given, done := blocksOf(mem, randomNumbers[T](r, n))
	defer done()
	before := like(mem, randomNumbers[float64](r, blocks))
	totals, want := room[float64](mem, blocks), make([]float64, blocks)
	goes.totals(want, given)
	tier.totals(totals, given)
	sameSums(t, "totals", blocks, totals, want)
	mem.intact("totals", 8*blocks, 1)
	expect := make([]T, n)
	sumsAlong(expect, given, before)
	type loop = func(dst, v []T, before, totals []float64, next []T)
	for name, along := range map[string]loop{"Go": goes.along, "along": tier.along, "along past the caches": tier.alongPast} {
		more := []int{0, blocks / 2, blocks, blocks + 3}[r.IntN(4)] // blocks of next
		next, end := blocksOf(mem, randomNumbers[T](r, more*kernels.ScanBlock))
		totals, want := make([]float64, more), make([]float64, more)
		sumTotals(want, next)
		got, free := blocksOf(mem, make([]T, n))
		along(got, given, before, totals, next)
		sameSums(t, name, blocks, got, expect)
		sameSums(t, name+": totals", more, totals, want)
		copy(got, given)
		clear(totals)
		along(got, got, before, totals, next)
		sameSums(t, name+" in place", blocks, got, expect)
		sameSums(t, name+" in place: totals", more, totals, want)
		free()
		end()
	}
}

// sameSums is same for sums, of which a NaN may be any: which of two that are added
// is the result is the compiler's choice.
func sameSums[T float](t *testing.T, what string, n int, got, want []T) {
	t.Helper()
	for _, v := range [][]T{got, want} {
		for i, x := range v {
			if x != x {
				v[i] = T(math.NaN())
			}
		}
	}
	same(t, what, n, got, want)
}

func TestRunLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
		for n := range maxLoop {
			sameRuns(t, n, &goes.runU32, &tier.runU32, r, mem)
			sameRuns(t, n, &goes.runU64, &tier.runU64, r, mem)
		}
	})
}

func sameRuns[T uint32 | uint64](t *testing.T, n int, goes, tier *runLoops[T], r *rand.Rand, mem *guarded) {
	mem.again()
	given, before := like(mem, randomNumbers[T](r, n)), T(r.Uint64())
	if got, want := tier.total(given), goes.total(given); got != want {
		t.Fatalf("total of %d: %d, not %d", n, got, want)
	}
	expect := make([]T, n)
	runAlong(expect, given, before)
	type loop = func(dst, v []T, before T, next []T) T
	for name, along := range map[string]loop{"Go": goes.along, "along": tier.along, "along past the caches": tier.alongPast} {
		got := room[T](mem, n)
		next := like(mem, randomNumbers[T](r, []int{0, n / 2, n, n + 70}[n%4]))
		want := totalOf(next)
		if total := along(got, given, before, next); total != want {
			t.Fatalf("%s of %d: total %d of the next %d, not %d", name, n, total, len(next), want)
		}
		same(t, name, n, got, expect)
		copy(got, given)
		if total := along(got, got, before, next); total != want {
			t.Fatalf("%s of %d in place: total %d of the next %d, not %d", name, n, total, len(next), want)
		}
		same(t, name+" in place", n, got, expect)
	}
	mem.intact("sums", len(rawBytes(expect)), 1, 3, 5)
}

func BenchmarkScan(b *testing.B) {
	b.Run("type=float32", func(b *testing.B) { benchmarkScans(b, func(l *loops) *scanLoops[float32] { return &l.scan32 }) })
	b.Run("type=float64", func(b *testing.B) { benchmarkScans(b, func(l *loops) *scanLoops[float64] { return &l.scan64 }) })
	b.Run("type=uint32", func(b *testing.B) { benchmarkRuns(b, func(l *loops) *runLoops[uint32] { return &l.runU32 }) })
	b.Run("type=uint64", func(b *testing.B) { benchmarkRuns(b, func(l *loops) *runLoops[uint64] { return &l.runU64 }) })
}

func benchmarkScans[T float](b *testing.B, of func(l *loops) *scanLoops[T]) {
	v, dst := make([]T, morsel), make([]T, morsel)
	for i := range v { // or all of it is one page of zeros
		v[i] = T(i & 7)
	}
	before := make([]float64, morsel/kernels.ScanBlock)
	bytes := len(rawBytes(v))
	b.Run("loop=totals", func(b *testing.B) {
		benchmarkTiers(b, bytes, func(l *loops) { of(l).totals(before, v) })
	})
	b.Run("loop=along", func(b *testing.B) {
		benchmarkTiers(b, bytes, func(l *loops) { of(l).along(dst, v, before, before, v) })
	})
	b.Run("loop=past", func(b *testing.B) {
		benchmarkTiers(b, bytes, func(l *loops) { of(l).alongPast(dst, v, before, before, v) })
	})
}

func benchmarkRuns[T uint32 | uint64](b *testing.B, of func(l *loops) *runLoops[T]) {
	v, dst := make([]T, morsel), make([]T, morsel)
	for i := range v { // or all of it is one page of zeros
		v[i] = T(i & 7)
	}
	bytes := len(rawBytes(v))
	b.Run("loop=totals", func(b *testing.B) {
		benchmarkTiers(b, bytes, func(l *loops) { of(l).total(v) })
	})
	b.Run("loop=along", func(b *testing.B) {
		benchmarkTiers(b, bytes, func(l *loops) { of(l).along(dst, v, 0, v) })
	})
	b.Run("loop=past", func(b *testing.B) {
		benchmarkTiers(b, bytes, func(l *loops) { of(l).alongPast(dst, v, 0, v) })
	})
}
