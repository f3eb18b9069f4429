package cpu

import (
	"cmp"
	"math/bits"
)

// wide is a sum of 128 bits in two's complement.
type wide struct {
	low  uint64
	high int64
}

func (w *wide) add(low uint64, high int64) {
	sum, carry := bits.Add64(w.low, low, 0)
	w.low, w.high = sum, w.high+high+int64(carry)
}

// addWide is add of both words, and what it carries out of 128 bits: 1 past the
// greatest, -1 below the least.
func (w *wide) addWide(low uint64, high int64) (carry int64) {
	was := w.high
	w.add(low, high)
	switch {
	case (was^w.high)&(high^w.high) >= 0:
		return 0
	case high < 0:
		return -1
	default:
		return 1
	}
}

func (w wide) float() float64 {
	if w.high < 0 {
		low, borrow := bits.Sub64(0, w.low, 0)
		return -wide{low, -w.high - int64(borrow)}.float()
	}
	return float64(w.high)*(1<<64) + float64(w.low)
}

// wideState sums integers that a mean must not let wrap.
type wideState[T integer] struct {
	groupValues[wide]
	values []T
}

func (s *wideState[T]) update(ids, rows []uint32, from uint32) {
	for j, id := range ids {
		v := s.values[rowOf(rows, from, j)]
		high := int64(0)
		if v < 0 {
			high = -1
		}
		s.acc.s[id].add(uint64(v), high)
	}
}

func (s *wideState[T]) merge(later state, at []uint32) {
	for i, v := range upTo(later.(*wideState[T]).acc.s, at, len(s.acc.s)) {
		i := placeOf(at, i)
		s.acc.s[i].add(v.low, v.high)
	}
}

// productState multiplies floats.
type productState struct {
	groupValues[float64]
	value func(row uint32) float64
}

func (s *productState) reset(n int) error {
	err := s.groupValues.reset(n)
	for i := range s.acc.s {
		s.acc.s[i] = 1
	}
	return err
}

func (s *productState) update(ids, rows []uint32, from uint32) {
	for j, id := range ids {
		s.acc.s[id] *= s.value(rowOf(rows, from, j))
	}
}

func (s *productState) merge(later state, at []uint32) {
	for i, v := range upTo(later.(*productState).acc.s, at, len(s.acc.s)) {
		i := placeOf(at, i)
		s.acc.s[i] *= v
	}
}

// extremeState keeps the least or the greatest value; worst is what every
// value is better than, and a NaN gives way to any other value.
type extremeState[T cmp.Ordered] struct {
	groupValues[T]
	values []T
	worst  T
	max    bool
}

func (s *extremeState[T]) reset(n int) error {
	err := s.groupValues.reset(n)
	for i := range s.acc.s {
		s.acc.s[i] = s.worst
	}
	return err
}

func (s *extremeState[T]) update(ids, rows []uint32, from uint32) {
	acc, values := s.acc.s, s.values
	if s.max {
		for j, id := range ids {
			if v := values[rowOf(rows, from, j)]; v > acc[id] || acc[id] != acc[id] {
				acc[id] = v
			}
		}
		return
	}
	for j, id := range ids {
		if v := values[rowOf(rows, from, j)]; v < acc[id] || acc[id] != acc[id] {
			acc[id] = v
		}
	}
}

func (s *extremeState[T]) merge(later state, at []uint32) {
	for i, v := range upTo(later.(*extremeState[T]).acc.s, at, len(s.acc.s)) {
		i := placeOf(at, i)
		a := s.acc.s[i]
		if s.max && v > a || !s.max && v < a || a != a {
			s.acc.s[i] = v
		}
	}
}
