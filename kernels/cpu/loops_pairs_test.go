package cpu

import (
	"math/rand/v2"
	"testing"
)

func TestPairLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
		for n := range 12 {
			for gap := range 70 {
				mem.again()
				text := make([]byte, n*pairStep+gap)
				for i := range text {
					text[i] = "ab\x80\xff"[r.IntN(4)]
				}
				given := like(mem, text)
				got, want := room[byte](mem, n*pairStep/8), make([]byte, n*pairStep/8)
				first, last := "ab\x80\xff"[r.IntN(4)], "ab\x80\xff"[r.IntN(4)]
				for i := range n * pairStep {
					if text[i] == first && text[i+gap] == last {
						want[i/8] |= 1 << (i % 8)
					}
				}
				tier.pairs.mark(got, given, first, last, gap)
				same(t, "marks", len(text), got, want)
				mem.intact("marks", len(got), 1)
				goes.pairs.mark(got, given, first, last, gap)
				same(t, "marks in Go", len(text), got, want)
			}
		}
	})
}

func BenchmarkPairs(b *testing.B) {
	const n = 1 << 12
	text, dst := randomBytes(rand.New(rand.NewPCG(1, 2)), n+4), make([]byte, n/8)
	benchmarkTiers(b, n, func(l *loops) { l.pairs.mark(dst, text, 'a', 'b', 4) })
}
