package cpu

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// moments are the count, the mean and the sum of squared distances from it. Of
// types that float64 does not hold the mean counts from a row of the group, whose
// number plus 1 is in base: what is squared is then small however far from 0 the
// values are.
type moments struct {
	n, mean, squares float64
	base             uint32
}

// momentState keeps them by Welford's method (B. P. Welford, "Note on a method
// for calculating corrected sums of squares and products", Technometrics 4,
// 1962) and merges them as Chan, Golub and LeVeque do ("Updating formulae and
// a pairwise algorithm for computing sample variances", 1979).
type momentState struct {
	groupValues[moments]
	value func(row uint32) float64       // nil where values count from a base
	from  func(row, base uint32) float64 // the distance of a row from another
}

func (s *momentState) update(ids, rows []uint32, from uint32) {
	for j, id := range ids {
		row := rowOf(rows, from, j)
		m := &s.acc.s[id]
		var v float64
		switch {
		case s.value != nil:
			v = s.value(row)
		case m.n == 0:
			m.base = row + 1
		default:
			v = s.from(row, m.base-1)
		}
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
		if s.value == nil {
			d += s.from(b.base-1, m.base-1)
		}
		m.mean += d * (b.n / n)
		m.squares += b.squares + d*d*(m.n*b.n/n)
		m.n = n
	}
}

// newMomentState is the state for a column of numbers.
func newMomentState(a *arena, c *memory.Column) *momentState {
	s := &momentState{groupValues: groupValues[moments]{a: a}}
	switch c.Type().ID() {
	case arrow.INT64:
		s.from = distancesOf(memory.Values[int64](c))
	case arrow.UINT64:
		s.from = distancesOf(memory.Values[uint64](c))
	case arrow.DECIMAL128:
		v, unit := memory.Values[decimal](c), math.Pow10(int(c.Type().(*arrow.Decimal128Type).Scale))
		s.from = func(row, base uint32) float64 {
			x, y := v[row], v[base]
			if int64(x.hi) < int64(y.hi) || x.hi == y.hi && x.lo < y.lo {
				return -distance(y, x) / unit
			}
			return distance(x, y) / unit
		}
	default:
		s.value = floatAt(c)
	}
	return s
}

// distancesOf gives the distance of a value from another: it is exact before it is
// rounded.
func distancesOf[T int64 | uint64](v []T) func(row, base uint32) float64 {
	return func(row, base uint32) float64 {
		if v[row] < v[base] {
			return -float64(uint64(v[base]) - uint64(v[row]))
		}
		return float64(uint64(v[row]) - uint64(v[base]))
	}
}

// distance is v - least, which is not negative, as the nearest float.
func distance(v, least decimal) float64 {
	low, borrow := bits.Sub64(v.lo, least.lo, 0)
	high, _ := bits.Sub64(v.hi, least.hi, borrow)
	return kernels.Float128(high, low)
}
