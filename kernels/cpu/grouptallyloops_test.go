package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The loops of spread keys do what those with indices do, for any number of rows.
func TestTallyLoops(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for _, n := range []int{0, 1, 7, 8, 9, 100, tallyStep} {
		for _, skip := range []uint{4, 6, mostTallyParts} {
			words, values, base, back := make([]uint64, n), make([]uint64, n), r.Uint64(), 64-skip
			for j := range words {
				words[j], values[j] = r.Uint64N(40)*0x1234567890abcdef+base, r.Uint64()
			}
			next, wantNext, at := make([]uint32, 1<<skip), make([]uint32, 1<<skip), uint32(0)
			for _, w := range words {
				next[hashWord(w-base, 0)>>back]++
			}
			for part, k := range next {
				next[part], wantNext[part], at = at, at, at+k
			}
			want, got := make([]tallyRecord, n), make([]tallyRecord, n)
			for j, w := range words {
				h := hashWord(w-base, 0)
				want[wantNext[h>>back]] = tallyRecord{h, values[j]}
				wantNext[h>>back]++
			}
			if scatterHashes(got, next, words, values, base, back); !slices.Equal(got, want) || !slices.Equal(next, wantNext) {
				t.Fatalf("%d rows, 2^%d parts: other records", n, skip)
			}
			for _, free := range []uint64{0, 1} {
				checkLook(t, got, free)
			}
		}
	}
}

// checkLook looks records up in a table that has a part of their words.
func checkLook(t *testing.T, records []tallyRecord, free uint64) {
	t.Helper()
	const shift = 64 - 6
	slots := make([]tallySlot[int64], 1<<6)
	for j, r := range records {
		w := r.word &^ free
		for i := w >> shift; j%3 != 0; i++ {
			s := &slots[i&63]
			if s.counts == 0 {
				s.word, s.counts = w, 1
			}
			if s.word == w {
				break
			}
		}
	}
	var heads [tallyStep]uint32
	lookHashes(slots, records, heads[:], shift, free)
	for j, r := range records {
		w := r.word &^ free
		i := w >> shift
		for k := 0; k < 2 && slots[i&63].word != w; k++ {
			i++
		}
		if uint64(heads[j]) != i {
			t.Fatalf("record %d of %d: slot %d, not %d", j, len(records), heads[j], i)
		}
	}
	if free != 0 {
		return
	}
	want := slices.Clone(slots)
	j := 0
	for ; j < len(records); j++ {
		s := &want[heads[j]&63]
		if s.word != records[j].word {
			break
		}
		s.sum += int64(records[j].value)
		s.counts += oneValue
	}
	if got := addHeads(slots, records, &heads, 0); got != j || !slices.Equal(slots, want) {
		t.Fatalf("%d records: %d added, not %d, or other sums", len(records), got, j)
	}
}
