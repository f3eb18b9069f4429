package cpu

import "github.com/volley-go/volley/kernels"

// carries are what sums of groups carried out of their words: a group that has
// none, as all but a few have, is not there.
type carries map[uint32]int64

// add keeps a carry of a group.
func (c *carries) add(id uint32, carry int64) {
	if carry == 0 {
		return
	}
	if *c == nil {
		*c = carries{}
	}
	(*c)[id] += carry
}

// merge takes in those of later, whose group i is placeOf(at, i) here.
func (c *carries) merge(later carries, at []uint32) {
	for id, carry := range later {
		if at == nil || int(id) < len(at) {
			c.add(uint32(placeOf(at, int(id))), carry)
		}
	}
}

// exactState sums integers of 64 bits without loss: a word of each group, and
// what it carried. A carry shows in the signs, so that a row costs no branch that
// is taken.
type exactState[T int64 | uint64] struct {
	groupValues[T]
	values  []T
	carries carries
}

func (s *exactState[T]) reset(n int) error {
	s.carries = nil
	return s.groupValues.reset(n)
}

func (s *exactState[T]) update(ids, rows []uint32, from uint32) {
	acc, values := s.acc.s, s.values
	if rows != nil {
		rows = rows[:len(ids)]
		for j, id := range ids {
			was, v := acc[id], values[rows[j]]
			if acc[id] = was + v; pastWord(was, v, was+v) {
				s.carry(id, v)
			}
		}
		return
	}
	if len(ids) == 0 {
		return
	}
	values = values[from:]
	values = values[:len(ids)]
	for j, id := range ids {
		was, v := acc[id], values[j]
		if acc[id] = was + v; pastWord(was, v, was+v) {
			s.carry(id, v)
		}
	}
}

// pastWord reports whether a + b, wrapped to sum, does not fit.
func pastWord[T int64 | uint64](a, b, sum T) bool {
	if ^T(0) < 0 {
		return (a^sum)&(b^sum) < 0
	}
	return sum < a
}

// carry keeps that adding v to a group carried.
func (s *exactState[T]) carry(id uint32, v T) {
	if v < 0 {
		s.carries.add(id, -1)
	} else {
		s.carries.add(id, 1)
	}
}

func (s *exactState[T]) merge(later state, at []uint32) {
	other := later.(*exactState[T])
	for i, v := range upTo(other.acc.s, at, len(s.acc.s)) {
		i := placeOf(at, i)
		was := s.acc.s[i]
		if s.acc.s[i] = was + v; pastWord(was, v, was+v) {
			s.carry(uint32(i), v)
		}
	}
	s.carries.merge(other.carries, at)
}

// intProductState multiplies integers.
type intProductState struct {
	groupValues[kernels.ExactProduct]
	value  func(row uint32) uint64
	signed bool
}

func (s *intProductState) reset(n int) error {
	err := s.groupValues.reset(n)
	for i := range s.acc.s {
		s.acc.s[i] = kernels.One()
	}
	return err
}

func (s *intProductState) update(ids, rows []uint32, from uint32) {
	for j, id := range ids {
		s.acc.s[id].Times(s.value(rowOf(rows, from, j)), s.signed)
	}
}

func (s *intProductState) merge(later state, at []uint32) {
	for i, v := range upTo(later.(*intProductState).acc.s, at, len(s.acc.s)) {
		s.acc.s[placeOf(at, i)].Join(v)
	}
}
