package cpu

import (
	"math/bits"
	"sync"

	"github.com/volley-go/volley/kernels"
)

// decimalState sums decimals without loss: 128 bits of each group, and what they
// carried. Batches of short decimals are added to words of 64 bits first, as long
// as the greatest that there may be proves that none of these overflows.
type decimalState struct {
	groupValues[wide]
	l       *loops
	values  [][2]uint64
	carries carries
	words   vec[int64] // as many for each group as there are lanes
	lanes   int
	reach   uint64 // no word is farther from 0
}

// narrowPool has room for the short decimals of a batch: a state for each morsel would leave much behind.
var narrowPool = sync.Pool{New: func() any { return new([batchRows]int64) }}

// laneGroups is the most groups that have several words, which lie in the first-level
// cache then.
const laneGroups = 1 << 9

func newDecimalState(a *arena, l *loops, values [][2]uint64) *decimalState {
	return &decimalState{groupValues: groupValues[wide]{a: a}, l: l, values: values}
}

func (s *decimalState) reset(n int) error {
	s.carries, s.reach = nil, 0
	s.lanes = 1
	if n <= laneGroups {
		s.lanes = 4
	}
	if err := s.words.resize(s.a, s.lanes*n); err != nil {
		return err
	}
	return s.groupValues.reset(n)
}

func (s *decimalState) free() {
	s.a.drop(s.words.b)
	s.words = vec[int64]{}
	s.groupValues.free()
}

func (s *decimalState) update(ids, rows []uint32, from uint32) {
	if len(ids) == 0 {
		return
	}
	room := narrowPool.Get().(*[batchRows]int64)
	defer narrowPool.Put(room)
	v := room[:len(ids)]
	longest, ok := s.narrow(v, rows, from)
	if ok && s.admits(len(ids), longest) {
		if words := s.words.s; s.lanes > 1 {
			sumLanes4(words, ids, v)
		} else {
			for j, id := range ids {
				words[id] += v[j]
			}
		}
		return
	}
	for j, id := range ids {
		v := s.values[rowOf(rows, from, j)]
		s.carries.add(id, s.acc.s[id].addWide(v[0], int64(v[1])))
	}
}

// narrow gives the values of rows as integers, and the bits of the longest.
func (s *decimalState) narrow(v []int64, rows []uint32, from uint32) (longest int, ok bool) {
	if rows == nil {
		magnitude, wide := s.l.decimal.narrow(v, s.values[from:][:len(v)])
		return bits.Len64(magnitude), wide == 0
	}
	magnitude, wide := uint64(0), uint64(0)
	for j, row := range rows[:len(v)] {
		x := &s.values[row]
		sign := uint64(int64(x[0]) >> 63)
		v[j] = int64(x[0])
		magnitude |= x[0] ^ sign
		wide |= x[1] ^ sign
	}
	return bits.Len64(magnitude), wide == 0
}

// admits reports whether so many more values may be added to the words. They are
// emptied first where they might overflow, but no more often than as many rows are
// added as there are words.
func (s *decimalState) admits(n, longest int) bool {
	batches := max(1, len(s.words.s)/n)
	if longest+bits.Len(uint(n))+bits.Len(uint(batches)) > 62 {
		return false
	}
	more := uint64(n) << longest
	if s.reach+more >= 1<<63 {
		s.settle()
	}
	s.reach += more
	return true
}

// settle moves the words into the sums of 128 bits.
func (s *decimalState) settle() {
	for i, w := range s.words.s {
		if g := i / s.lanes; w != 0 {
			s.carries.add(uint32(g), s.acc.s[g].addWide(uint64(w), w>>63))
			s.words.s[i] = 0
		}
	}
	s.reach = 0
}

func (s *decimalState) merge(later state, at []uint32) {
	other := later.(*decimalState)
	other.settle()
	for i, v := range upTo(other.acc.s, at, len(s.acc.s)) {
		i := placeOf(at, i)
		s.carries.add(uint32(i), s.acc.s[i].addWide(v.low, v.high))
	}
	s.carries.merge(other.carries, at)
}

// whole is the sum of a group, and what it carried.
func (s *decimalState) whole(g int) (sum wide, carry int64) {
	sum = s.acc.s[g]
	for _, w := range s.words.s[g*s.lanes:][:s.lanes] {
		carry += sum.addWide(uint64(w), w>>63)
	}
	return sum, carry + s.carries[uint32(g)]
}

// sum is the sum of a group, and whether it fits a decimal.
func (s *decimalState) sum(g int) (wide, bool) {
	w, carry := s.whole(g)
	return w, carry == 0 && decimal{w.low, uint64(w.high)}.fits(kernels.DecimalDigits)
}

// float is the sum of a group as a float.
func (s *decimalState) float(g int) float64 {
	w, carry := s.whole(g)
	return w.float() + float64(carry)*(1<<64)*(1<<64)
}

// sumLanes4 adds values to the sums of their groups, of which each has four in turn:
// else a row would wait for the one before, which is often of the same group.
func sumLanes4(sums []int64, ids []uint32, v []int64) {
	v = v[:len(ids)]
	for len(ids) >= 4 && len(v) >= 4 {
		g, x := (*[4]uint32)(ids), (*[4]int64)(v)
		sums[4*g[0]] += x[0]
		sums[4*g[1]+1] += x[1]
		sums[4*g[2]+2] += x[2]
		sums[4*g[3]+3] += x[3]
		ids, v = ids[4:], v[4:]
	}
	for j, id := range ids {
		sums[4*id] += v[j]
	}
}
