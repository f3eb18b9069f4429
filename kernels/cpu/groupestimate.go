package cpu

import (
	"math"
	"math/bits"
	"sync"
)

// sampleRows is how many rows are looked at to guess how many groups there are.
const sampleRows = 1 << 13

// wordSample is what a sample of rows has: its distinct words and how often each was
// seen, in a hash table whose free places count nothing.
type wordSample struct {
	words          []uint64
	counts         []uint16
	rows           int64 // that there are
	distinct, seen int64
	room           *sampleRoom
}

// sampleRoom is memory of a sample, which calls hand on: to clear it takes a good part
// of the time of a call over one morsel.
type sampleRoom struct {
	words  [4 * sampleRows]uint64
	counts [4 * sampleRows]uint16
}

var samplePool = sync.Pool{New: func() any { return new(sampleRoom) }}

// free hands the memory of a sample on.
func (s *wordSample) free() {
	if s.room != nil {
		samplePool.Put(s.room)
	}
	s.room, s.words, s.counts = nil, nil, nil
}

// sampleWords looks at rows spread over all of n, at places that depend on n alone.
func sampleWords(src source, n int64) *wordSample {
	s := &wordSample{rows: n}
	r := min(n, sampleRows)
	if r == 0 {
		return s
	}
	b := takeBatch()
	defer b.give()
	rows := &b.value
	s.room = samplePool.Get().(*sampleRoom)
	places := 1 << bits.Len64(uint64(4*r-1)) // 4*sampleRows of r = sampleRows
	s.words, s.counts = s.room.words[:places], s.room.counts[:places]
	clear(s.counts)
	last := uint64(places - 1)
	for from := int64(0); from < r; from += batchRows {
		k := min(batchRows, r-from)
		low := from * n / r
		for j := range k {
			high := uint64(from+j+1) * uint64(n)
			if r == sampleRows {
				high /= sampleRows
			} else {
				high /= uint64(r)
			}
			rows[j] = uint32(low + int64(mix(uint64(low))%(high-uint64(low))))
			low = int64(high)
		}
		b.gather(rows[:k])
		if src.fill(b) {
			b.compact()
		}
		s.seen += int64(b.n)
		for _, w := range b.words[:b.n] {
			i := mix(w) & last
			for s.counts[i] != 0 && s.words[i] != w {
				i = (i + 1) & last
			}
			if s.words[i] = w; s.counts[i] == 0 {
				s.distinct++
			}
			s.counts[i]++
		}
	}
	return s
}

// estimateGroups guesses the number of distinct words among n rows. It takes the number
// of equally frequent groups that would show as many distinct ones in a sample of that
// size. Words that are an eighth of the sample or more, such as null, say nothing of how
// frequent others are, and do not count among these. A guess that is wrong costs time,
// never a result.
func estimateGroups(src source, n int64, card uint64) int64 {
	s := sampleWords(src, n)
	defer s.free()
	return s.groups(card, max(s.seen/8, 2))
}

// groups is the guess where words seen often times say nothing of others.
func (s *wordSample) groups(card uint64, often int64) int64 {
	distinct, seen := s.distinct, s.seen
	if s.rows <= sampleRows || distinct < 2 {
		return distinct
	}
	frequent := int64(0)
	for _, k := range s.counts {
		if k := int64(k); k >= often {
			frequent++
			seen -= k
		}
	}
	if distinct -= frequent; distinct < 2 {
		return distinct + frequent
	}
	most := s.rows
	if card != 0 && card < uint64(most) {
		most = int64(card)
	}
	if distinct >= seen-seen/1000 {
		return most
	}
	low, high := float64(distinct), float64(most)
	for range 50 {
		g := math.Sqrt(low * high)
		if g*(1-math.Pow(1-1/g, float64(seen))) < float64(distinct) {
			low = g
		} else {
			high = g
		}
	}
	return min(int64(high)+frequent, most)
}
