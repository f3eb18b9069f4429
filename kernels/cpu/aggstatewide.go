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

// decimalState sums decimals and wraps.
type decimalState struct {
	groupValues[wide]
	values [][2]uint64
}

func (s *decimalState) update(ids, rows []uint32, from uint32) {
	for j, id := range ids {
		v := s.values[rowOf(rows, from, j)]
		s.acc.s[id].add(v[0], int64(v[1]))
	}
}

func (s *decimalState) merge(later state, at []uint32) {
	for i, v := range upTo(later.(*decimalState).acc.s, at, len(s.acc.s)) {
		i := placeOf(at, i)
		s.acc.s[i].add(v.low, v.high)
	}
}

// productState multiplies integers and wraps, or floats.
type productState[A int64 | float64] struct {
	groupValues[A]
	value func(row uint32) A
}

func (s *productState[A]) reset(n int) error {
	err := s.groupValues.reset(n)
	for i := range s.acc.s {
		s.acc.s[i] = 1
	}
	return err
}

func (s *productState[A]) update(ids, rows []uint32, from uint32) {
	for j, id := range ids {
		s.acc.s[id] *= s.value(rowOf(rows, from, j))
	}
}

func (s *productState[A]) merge(later state, at []uint32) {
	for i, v := range upTo(later.(*productState[A]).acc.s, at, len(s.acc.s)) {
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

// moments are the count, the mean and the sum of squared distances from it.
type moments struct{ n, mean, squares float64 }

// momentState keeps them by Welford's method (B. P. Welford, "Note on a method
// for calculating corrected sums of squares and products", Technometrics 4,
// 1962) and merges them as Chan, Golub and LeVeque do ("Updating formulae and
// a pairwise algorithm for computing sample variances", 1979).
type momentState struct {
	groupValues[moments]
	value func(row uint32) float64
}

func (s *momentState) update(ids, rows []uint32, from uint32) {
	for j, id := range ids {
		v := s.value(rowOf(rows, from, j))
		m := &s.acc.s[id]
		m.n++
		d := v - m.mean
		m.mean += d / m.n
		m.squares += d * (v - m.mean)
	}
}

func (s *momentState) merge(later state, at []uint32) {
	for i, b := range upTo(later.(*momentState).acc.s, at, len(s.acc.s)) {
		i := placeOf(at, i)
		m := &s.acc.s[i]
		if b.n == 0 {
			continue
		}
		if m.n == 0 {
			*m = b
			continue
		}
		n := m.n + b.n
		d := b.mean - m.mean
		m.mean += d * (b.n / n)
		m.squares += b.squares + d*d*(m.n*b.n/n)
		m.n = n
	}
}
