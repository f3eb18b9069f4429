// Package moments merges the variances of parts of groups into those of the groups.
package moments

import (
	"context"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Totals are the counts of the values that are not null of some groups, or of parts of them,
// int64, and the sums of these, float64 or decimals. The columns are in host memory.
type Totals struct{ Counts, Sums *memory.Column }

// asked is after how many rows it is asked whether the context has ended.
const asked = 1 << 16

// Variance merges the variances of parts of groups, with ddof 0, into those of the groups, as Chan, Golub and
// LeVeque do ("Updating formulae and a pairwise algorithm for computing sample variances", 1979): the squared
// differences of a group's values from its mean are those from the means of its parts, and those of these means. Row i
// of parts and of variances belongs to group ids[i], to none where that is null; ids is nil where there is one group. whole has the
// counts and sums of the groups. What a group without values gets is undefined. It fails where ctx ends.
//
// A part's mean is taken from the whole number next to the mean of its group where sums are decimals: then what is squared is exact
// however far from 0 the values are.
func Variance(ctx context.Context, ids *memory.Column, parts Totals, variances *memory.Column, whole Totals) ([]float64, error) {
	counts, spread := memory.Values[int64](parts.Counts), memory.Values[float64](variances)
	all := memory.Values[int64](whole.Counts)
	from := distances(parts, whole)
	out := make([]float64, whole.Counts.Len())
	for i := range parts.Counts.Len() {
		if i%asked == 0 {
			if err := device.Canceled(ctx, "cpu", "variances"); err != nil {
				return nil, err
			}
		}
		g, ok := groupOf(ids, i)
		if !ok || counts[i] == 0 {
			continue
		}
		d := from(i, g)
		out[g] += float64(counts[i]) * (spread[i] + d*d)
	}
	for g := range out {
		out[g] /= float64(all[g])
	}
	return out, nil
}

// groupOf is the group of a row, if it has one.
func groupOf(ids *memory.Column, row int64) (group int64, ok bool) {
	switch {
	case ids == nil:
		return 0, true
	case ids.IsNull(row):
		return 0, false
	case ids.Type().ID() == arrow.UINT64:
		return int64(memory.Values[uint64](ids)[row]), true
	}
	return int64(memory.Values[uint32](ids)[row]), true
}

// distances gives how far the mean of a part is from that of its group.
func distances(parts, whole Totals) func(part, group int64) float64 {
	counts, all := memory.Values[int64](parts.Counts), memory.Values[int64](whole.Counts)
	t, exact := parts.Sums.Type().(*arrow.Decimal128Type)
	if !exact {
		sums, total := memory.Values[float64](parts.Sums), memory.Values[float64](whole.Sums)
		return func(part, group int64) float64 {
			return sums[part]/float64(counts[part]) - total[group]/float64(all[group])
		}
	}
	sums, total := memory.Values[sum128](parts.Sums), memory.Values[sum128](whole.Sums)
	unit := math.Pow10(int(t.Scale))
	return func(part, group int64) float64 {
		base, rest := total[group].over(uint64(all[group]))
		d := sums[part].minus(base.times(uint64(counts[part]))).float() / float64(counts[part])
		return (d - rest.float()/float64(all[group])) / unit
	}
}

// sum128 is an integer of 128 bits in two's complement, the low half first, as a decimal column has it.
type sum128 [2]uint64

func (s sum128) negative() bool { return int64(s[1]) < 0 }

func (s sum128) minus(t sum128) sum128 {
	low, borrow := bits.Sub64(s[0], t[0], 0)
	high, _ := bits.Sub64(s[1], t[1], borrow)
	return sum128{low, high}
}

// times is s * n, of which 128 bits are kept.
func (s sum128) times(n uint64) sum128 {
	high, low := bits.Mul64(s[0], n)
	return sum128{low, high + s[1]*n}
}

// magnitude is |s|.
func (s sum128) magnitude() sum128 {
	if s.negative() {
		return sum128{}.minus(s)
	}
	return s
}

// over is s / n, cut towards 0, and what is left, with the sign of s.
func (s sum128) over(n uint64) (quotient, rest sum128) {
	m := s.magnitude()
	high, left := bits.Div64(0, m[1], n)
	low, left := bits.Div64(left, m[0], n)
	quotient, rest = sum128{low, high}, sum128{left, 0}
	if s.negative() {
		return sum128{}.minus(quotient), sum128{}.minus(rest)
	}
	return quotient, rest
}

// float is the float64 nearest to s.
func (s sum128) float() float64 {
	m := s.magnitude()
	v := kernels.Float128(m[1], m[0])
	if s.negative() {
		return -v
	}
	return v
}
