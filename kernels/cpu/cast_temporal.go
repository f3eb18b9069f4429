package cpu

import (
	"math"
	"math/bits"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// perDay is how many of t's units make a day: 1 for date32.
func perDay(t arrow.DataType) int64 {
	if t.ID() == arrow.DATE32 {
		return 1
	}
	return 86400 * kernels.PerSecond(kernels.UnitOf(t))
}

// castTemporal changes units and takes the day or the time of day.
func castTemporal(o *out, r *rowErrors, c *memory.Column, to arrow.DataType, opts kernels.CastOptions) func(int, span) error {
	var loop func(s span) bool
	switch from32, to32 := memory.Width(c.Type()) == 4, memory.Width(to) == 4; {
	case from32 && to32:
		loop = temporal[int32, int32](o, c, to)
	case from32:
		loop = temporal[int32, int64](o, c, to)
	case to32:
		loop = temporal[int64, int32](o, c, to)
	default:
		loop = temporal[int64, int64](o, c, to)
	}
	return checked(o, r, c, to, opts, loop)
}

func temporal[F, T int32 | int64](o *out, c *memory.Column, to arrow.DataType) func(s span) bool {
	src, dst := memory.Values[F](c), view[T](o, 1)
	from := c.Type()
	unit, target := perDay(from), perDay(to)
	if from.ID() == arrow.TIMESTAMP && to.ID() != arrow.TIMESTAMP {
		return clockOrDay(src, dst, from, to)
	}
	if unit > target {
		by := unit / target
		return func(s span) bool {
			x, y := src[s.from:s.to], dst[s.from:s.to]
			y = y[:len(x)]
			bad := int64(0)
			for i, v := range x {
				q, rest := kernels.FloorDiv(int64(v), by)
				y[i] = T(q)
				bad |= rest | (q ^ int64(T(q)))
			}
			return bad != 0
		}
	}
	by := target / unit
	return func(s span) bool {
		x, y := src[s.from:s.to], dst[s.from:s.to]
		y = y[:len(x)]
		bad := int64(0)
		for i, v := range x {
			hi, lo := bits.Mul64(uint64(int64(v)), uint64(by))
			high := int64(hi) - int64(v)>>63&by // the signed product's
			y[i] = T(lo)
			bad |= (high ^ int64(lo)>>63) | (int64(lo) ^ int64(T(lo)))
		}
		return bad != 0
	}
}

// clockOrDay takes the date or the time of day of timestamps on the clock of
// their zone.
func clockOrDay[F, T int32 | int64](src []F, dst []T, from, to arrow.DataType) func(s span) bool {
	loc, _ := kernels.Zone(from) // CanCast has looked
	unit, target := perDay(from), perDay(to)
	second := unit / 86400
	date := to.ID() == arrow.DATE32 || to.ID() == arrow.DATE64
	return func(s span) bool {
		zone := zoneClock{loc: loc}
		bad := int64(0)
		for i, v := range src[s.from:s.to] {
			unix, _ := kernels.FloorDiv(int64(v), second)
			days, clock := kernels.FloorDiv(int64(v), unit)
			carry, clock := kernels.FloorDiv(clock+zone.offset(unix)*second, unit)
			n, per := clock, unit
			if date {
				n, per = days+carry, 1
			}
			var q, rest int64
			if per > target {
				q, rest = kernels.FloorDiv(n, per/target)
			} else {
				q = n * (target / per)
				rest = q/(target/per) - n // not 0 where the product wrapped
			}
			dst[s.from+int64(i)] = T(q)
			bad |= rest | (q ^ int64(T(q)))
		}
		return bad != 0
	}
}

// zoneClock gives the offsets of a zone, and remembers the stretch of time that
// the last one held in.
type zoneClock struct {
	loc      *time.Location
	from, to int64
	ahead    int64
}

// offset is how many seconds the zone's clock is ahead of UTC at a Unix time.
func (z *zoneClock) offset(second int64) int64 {
	if z.loc == time.UTC {
		return 0
	}
	if second >= z.from && second < z.to {
		return z.ahead
	}
	z.ahead = kernels.LocalOffset(z.loc, second)
	z.from, z.to = second, second
	if year := int64(31557600); second > -1e6*year && second < 1e6*year { // where time.Time can say
		start, end := time.Unix(second, 0).In(z.loc).ZoneBounds()
		z.from, z.to = math.MinInt64, math.MaxInt64
		if !start.IsZero() {
			z.from = start.Unix()
		}
		if !end.IsZero() {
			z.to = end.Unix()
		}
	}
	return z.ahead
}
