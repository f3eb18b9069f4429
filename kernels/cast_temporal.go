package kernels

import (
	"math/bits"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// perDay is how many of t's units make a day: 1 for date32.
func perDay(t arrow.DataType) int64 {
	if t.ID() == arrow.DATE32 {
		return 1
	}
	return 86400 * PerSecond(UnitOf(t))
}

// castTemporal changes units, and takes the day or the time of day.
func castTemporal(v Scalar, to arrow.DataType, o CastOptions) (Scalar, error) {
	from, into := kindOf(v.typ), kindOf(to)
	n, unit := v.Int64(), perDay(v.typ)
	if from == timestampKind && into != timestampKind {
		loc, err := Zone(v.typ)
		if err != nil {
			return Scalar{}, err
		}
		second, _ := FloorDiv(n, unit/86400)
		days, clock := FloorDiv(n, unit)
		carry, clock := FloorDiv(clock+LocalOffset(loc, second)*(unit/86400), unit)
		days, n = days+carry, clock
		if into == dateKind {
			n, unit = days, 1
		}
	}
	r, exact, fits := scaleUnits(n, unit, perDay(to))
	s := Int(to, r)
	if o.Wrap {
		return s, nil
	}
	if !exact {
		return Scalar{}, badValue("%s of %s loses precision as %s", v, v.typ, to)
	}
	if !fits || s.Int64() != r {
		return Scalar{}, overflow(v, to)
	}
	return s, nil
}

// scaleUnits turns n units, of which a make a day, into units of which b do:
// one of a and b divides the other. Rounded down, and wrapped.
func scaleUnits(n, a, b int64) (r int64, exact, fits bool) {
	if a > b {
		q, rest := FloorDiv(n, a/b)
		return q, rest == 0, true
	}
	f := b / a
	r = n * f
	hi, lo := bits.Mul64(uint64(n), uint64(f))
	if n < 0 {
		hi -= uint64(f)
	}
	return r, true, int64(hi) == int64(lo)>>63
}

// LocalOffset is how many seconds the clock in loc is ahead of UTC at a Unix time.
func LocalOffset(loc *time.Location, second int64) int64 {
	if loc == time.UTC {
		return 0
	}
	_, offset := time.Unix(second, 0).In(loc).Zone()
	return int64(offset)
}
