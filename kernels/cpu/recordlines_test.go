package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// Records go to their parts in their order, whatever the parts, the places at which
// they begin, and how many records come at a time; the lines in Go and those of a tier
// are filled alike, and nothing is written that is not of the parts.
func TestRecordLines(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
		for _, cut := range []uint{0, 1, 3, 6} {
			for n := range maxLoop {
				tryRecords(t, goes, r, mem, cut, n)
				tryRecords(t, tier, r, mem, cut, n)
			}
			tryRecords(t, tier, r, mem, cut, 900)
		}
	})
}

func tryRecords(t *testing.T, l *loops, r *rand.Rand, mem *guarded, cut uint, n int) {
	t.Helper()
	parts, blocks := 1<<cut, min(1<<cut, 1<<r.UintN(3))
	fold := cut
	for 1<<(cut-fold) < blocks {
		fold--
	}
	shift := uint(r.IntN(65 - int(cut)))
	if cut == 0 {
		shift = uint(r.IntN(64))
	}
	words, values := make([]uint64, n), make([]uint64, n)
	counts := make([]uint32, parts)
	part := func(w uint64) int { return int(w >> shift & uint64(parts-1)) }
	for i := range words {
		words[i], values[i] = r.Uint64(), r.Uint64()
		counts[part(words[i])]++
	}
	starts := make([]uint32, parts)
	sizes := make([]int, blocks)
	for p, k := range counts {
		at := &sizes[p>>fold]
		*at += r.IntN(6) // of other chunks
		starts[p] = uint32(*at)
		*at += int(k)
	}
	mem.again()
	want, got := make([][]uint64, blocks), make([][]uint64, blocks)
	bases := make([]*uint64, blocks)
	for b, k := range sizes {
		want[b] = make([]uint64, (2*k+2+7)/8*8)
		for i := range want[b] {
			want[b][i] = r.Uint64()
		}
		got[b] = like(mem, want[b])
		bases[b] = unsafe.SliceData(got[b])
	}
	words, values = like(mem, words), like(mem, values)
	at := slices.Clone(starts)
	for i, w := range words {
		p := part(w)
		want[p>>fold][2*at[p]], want[p>>fold][2*at[p]+1] = w, values[i]
		at[p]++
	}
	lines := recordLines{blocks: bases, shift: shift, mask: uint64(parts - 1), fold: fold}
	lines.begin(starts)
	for from := 0; from < n; {
		to := min(n, from+1+r.IntN(100))
		lines.put(&l.lines, words[from:to], values[from:to])
		from = to
	}
	lines.end(&l.lines, starts)
	same(t, "places", n, starts, at)
	for b := range want {
		same(t, "records", n, got[b], want[b])
	}
}
