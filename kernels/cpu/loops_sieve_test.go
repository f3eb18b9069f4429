package cpu

import (
	"math/rand/v2"
	"testing"
)

func TestSieveLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
		var want sieveRows
		got := one[sieveRows](mem)
		for n := range maxLoop + 1 {
			mem.again()
			w, v, base := make([]uint64, n), make([]uint64, n), r.Uint64()
			for j := range w {
				w[j], v[j] = r.Uint64N(40)*0x1234567890abcdef+base, r.Uint64()
			}
			words, values := like(mem, w), like(mem, v)
			for _, skip := range []uint{0, 1, 4} {
				part := r.Uint64N(1 << skip)
				kept := goes.sieve.sieve(&want, w, v, base, skip, part)
				if k := tier.sieve.sieve(got, words, values, base, skip, part); k != kept || got.marks != want.marks {
					t.Fatalf("%d rows, range %d of 2^%d: %d kept, not %d, or others", n, part, skip, k, kept)
				}
				same(t, "records", n, recordWords(got.records[:kept]), recordWords(want.records[:kept]))
				if kept != n && skip == 0 {
					t.Fatalf("%d of %d rows are in the range of all", kept, n)
				}
			}
			testLook(t, tier, r, mem, n)
		}
	})
}

// testLook looks for records in a table that has some of their words.
func testLook(t *testing.T, tier *loops, r *rand.Rand, mem *guarded, n int) {
	t.Helper()
	if n &^= 7; tier.sieve.look == nil {
		return
	}
	for _, free := range []uint64{0, 1} {
		const shift = 64 - 6
		slots := make([]tallySlot[int64], 1<<6)
		for i := range slots {
			if r.IntN(2) == 0 {
				slots[i].word = uint64(i-r.IntN(3))<<shift | 2
			}
		}
		records := make([]tallyRecord, n)
		for j := range records {
			records[j] = tallyRecord{uint64(r.IntN(64))<<shift | 2 | r.Uint64N(2)&free, r.Uint64()}
		}
		want := make([]uint32, n)
		lookHashes(slots, records, want, shift, free)
		heads, words := room[uint32](mem, n), like(mem, recordWords(records))
		table := like(mem, slots)
		tier.sieve.look(heads, words, &table[0].word, shift, uint64(len(slots)-1), free)
		same(t, "places in a table", n, heads, want)
		mem.intact("places in a table", 4*n, 2+3*int(free))
	}
}
