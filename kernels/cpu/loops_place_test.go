package cpu

import (
	"math/rand/v2"
	"testing"
)

func TestPlaceLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded) {
		places := make([]uint32, 50)
		for i := range places {
			places[i] = r.Uint32N(3)
		}
		for n := range maxLoop + 1 {
			mem.again()
			base := r.Uint64()
			values := like(mem, make([]uint64, n))
			for j := range values {
				values[j] = base + r.Uint64N(60) - 5 // below, within and above
			}
			ids, want := room[uint32](mem, n), make([]uint32, n)
			inside := like(mem, places)
			tier.place.close(ids, values, base, uint64(len(places)-1), inside)
			goes.place.close(want, values, base, uint64(len(places)-1), places)
			same(t, "what places have", n, ids, want)
			mem.intact("what places have", 4*n, 1)
			mem.again()
			testRank(t, goes, tier, r, mem, n)
			for _, cut := range []uint{0, 1, 5} {
				mem.again()
				testSeek(t, goes, tier, r, mem, n, cut)
			}
		}
	})
}

// testRank looks for values by ranks, below, within and above the words that have bits,
// of which the last is the last of an entry.
func testRank(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded, n int) {
	t.Helper()
	entries := make([]uint64, 5)
	for i := range entries[:4] {
		entries[i] = uint64(r.Uint32()|r.Uint32()) | uint64(r.Uint32())<<32
	}
	entries[4] = 77 << 32
	base, limit := r.Uint64(), uint64(32*4)
	values := like(mem, make([]uint64, n))
	for j := range values {
		values[j] = base + r.Uint64N(limit+20) - 5
	}
	ids, want := room[uint32](mem, n), make([]uint32, n)
	tier.place.rank(ids, values, base, limit, like(mem, entries))
	goes.place.rank(want, values, base, limit, entries)
	same(t, "ranks", n, ids, want)
	mem.intact("ranks", 4*n, 1)
}

// testSeek looks for hashes in a table of which a third is free, where tags are few.
func testSeek(t *testing.T, goes, tier *loops, r *rand.Rand, mem *guarded, n int, cut uint) {
	t.Helper()
	in := &seekIn{cut: cut, region: 20, stride: 22}
	slots := make([]uint64, in.stride<<cut)
	for i := range slots {
		if r.IntN(3) > 0 {
			slots[i] = r.Uint64N(3)<<32 | 1 + r.Uint64N(9)
		}
	}
	in.slots = like(mem, slots)
	hashes, marks := like(mem, make([]uint64, n)), like(mem, make([]uint64, n))
	for j := range hashes {
		hashes[j], marks[j] = r.Uint64(), r.Uint64()&^(1<<32-1)|r.Uint64N(4)
	}
	got := seekRoom{room[uint32](mem, n), room[uint64](mem, n), room[uint32](mem, n), room[uint32](mem, n)}
	want := seekRoom{make([]uint32, n), make([]uint64, n), make([]uint32, n), make([]uint32, n)}
	rest := tier.place.seek(&got, in, hashes, marks)
	if most := goes.place.seek(&want, in, hashes, marks); rest != most {
		t.Fatalf("%d of %d to be looked for further on, not %d", rest, n, most)
	}
	same(t, "ids", n, got.ids, want.ids)
	same(t, "places", n, got.places, want.places)
	same(t, "tags", n, got.tags, want.tags)
	same(t, "rows to be looked for further on", n, got.rest[:rest], want.rest[:rest])
	for page, width := range map[int]int{3: 4, 4: 8, 5: 4, 6: 4} {
		mem.intact("what was sought", width*n, page)
	}
	for j, tag := range want.tags {
		found := want.ids[j] == 0 || uint32(slots[want.places[j]]>>32) == tag
		for _, k := range want.rest[:rest] {
			found = found || int(k) == j
		}
		if tag != uint32(marks[j]) || !found {
			t.Fatalf("row %d: place %d of tag %d is not its own, and it is not sought further on", j, want.places[j], tag)
		}
	}
}
