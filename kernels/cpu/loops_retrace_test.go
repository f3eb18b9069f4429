package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Words go to their parts in their order, and what is written over them there comes back
// to where they were, whatever the parts, the places at which they begin, and how many
// words come at a time; the loops in Go and those of a tier do alike, and nothing is
// written that is not of the parts.
func TestRetraceLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
		for _, parts := range []int{1, 2, 5, 64} {
			for n := range maxLoop {
				tryRetrace(t, goes, r, mem, parts, n)
				tryRetrace(t, tier, r, mem, parts, n)
			}
			tryRetrace(t, tier, r, mem, parts, 900)
		}
	})
}

func tryRetrace(t *testing.T, l *loops, r *rand.Rand, mem *guarded, parts, n int) {
	t.Helper()
	shift, base := uint(r.IntN(40)), r.Uint64()
	limit := uint64(parts-1)<<shift | r.Uint64()>>(64-shift)
	words, want := make([]uint64, n), make([]uint64, n)
	counts := make([]uint32, parts)
	for i := range words {
		if words[i] = base + r.Uint64N(limit+1); r.IntN(3) == 0 {
			words[i] = r.Uint64() // most are beyond the limit, or before base
		}
		want[i] = min(words[i]-base, limit)
		counts[want[i]>>shift]++
	}
	begins, size := make([]uint32, parts), r.Uint32N(20)
	for p, k := range counts {
		begins[p] = size
		size += k + r.Uint32N(12) // of other chunks
	}
	into := make([]uint64, (size+7)/8*8) // so that it begins a line beside unmapped pages on either side
	for i := range into {
		into[i] = r.Uint64()
	}
	mem.again()
	moved, given := like(mem, into), like(mem, words)
	offsets := like(mem, make([]uint64, n))
	l.retrace.clamp(offsets, given, base, limit)
	same(t, "offsets", n, offsets, want)
	places := slices.Clone(begins)
	for _, w := range want {
		p := w >> shift
		into[places[p]] = w
		places[p]++
	}
	lines := offsetLines{base: base, limit: limit, shift: shift, to: moved}
	at := slices.Clone(begins)
	lines.begin(at)
	for from := 0; from < n; {
		to := min(n, from+1+r.IntN(100))
		lines.put(&l.retrace, given[from:to])
		from = to
	}
	lines.end(&l.lines, at)
	same(t, "moved words", n, moved, into)
	same(t, "places", n, at, places)
	values := make([]uint64, len(into))
	for i := range values {
		values[i] = r.Uint64()
	}
	at = slices.Clone(begins)
	for i, w := range want {
		p := w >> shift
		want[i] = values[at[p]]
		at[p]++
	}
	back, next := like(mem, make([]uint64, n)), like(mem, begins)
	l.retrace.back(back, given, base, limit, shift, next, like(mem, values))
	same(t, "values that came back", n, back, want)
	same(t, "next places", n, next, places)
}
