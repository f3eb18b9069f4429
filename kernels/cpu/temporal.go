package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// temporalField is the CPU's TemporalFunc.
func temporalField(ctx context.Context, s device.Stream, f kernels.TemporalField, c *memory.Column) (*memory.Column, error) {
	o := newOut(s, arrow.PrimitiveTypes.Int64, c.Len())
	err := o.nullsOf(c)
	if err == nil {
		err = o.values()
	}
	if err != nil {
		return o.column(err)
	}
	var work func(int, span) error
	if memory.Width(c.Type()) == 4 {
		work, err = fieldOf[int32](o, f, c)
	} else {
		work, err = fieldOf[int64](o, f, c)
	}
	if err == nil {
		err = parallel(ctx, c.Len(), work)
	}
	return o.column(err)
}

func fieldOf[T int32 | int64](o *out, f kernels.TemporalField, c *memory.Column) (func(int, span) error, error) {
	loc, err := kernels.Zone(c.Type())
	if err != nil {
		return nil, err
	}
	src, dst := memory.Values[T](c), view[int64](o, 1)
	per := int64(0)
	if c.Type().ID() != arrow.DATE32 {
		per = kernels.PerSecond(kernels.UnitOf(c.Type()))
	}
	return func(_ int, s span) error {
		zone := zoneClock{loc: loc}
		for i := s.from; i < s.to; i++ {
			days, second := int64(src[i]), int64(0)
			if per != 0 {
				unix, _ := kernels.FloorDiv(days, per)
				days, second = kernels.FloorDiv(unix, 86400)
				carry, local := kernels.FloorDiv(second+zone.offset(unix), 86400)
				days, second = days+carry, local
			}
			dst[i] = civilField(f, days, second)
		}
		return nil
	}, nil
}

// civilField is a field of a day, counted from 1970-01-01, and a second of it.
func civilField(f kernels.TemporalField, days, second int64) int64 {
	switch f {
	case kernels.Hour:
		return second / 3600
	case kernels.Minute:
		return second / 60 % 60
	case kernels.Second:
		return second % 60
	case kernels.DayOfWeek:
		_, w := kernels.FloorDiv(days+3, 7) // 1970-01-01 was a Thursday
		return w
	}
	year, month, day := kernels.Civil(days)
	switch f {
	case kernels.Year:
		return year
	case kernels.Month:
		return int64(month)
	case kernels.Day:
		return int64(day)
	default:
		return days - kernels.Days(year, 1, 1) + 1
	}
}
