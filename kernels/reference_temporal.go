package kernels

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

func referenceTemporal(ctx context.Context, s device.Stream, f TemporalField, c *memory.Column) (*memory.Column, error) {
	loc, err := Zone(c.Type())
	if err != nil {
		return nil, err
	}
	t := arrow.PrimitiveTypes.Int64
	return loop(ctx, s, t, c.Len(), func(i int64) (Scalar, error) {
		v := ScalarAt(c, i)
		if !v.valid {
			return Null(t), nil
		}
		var days, second int64
		if v.typ.ID() == arrow.DATE32 {
			days = v.Int64()
		} else {
			unix, _ := FloorDiv(v.Int64(), PerSecond(UnitOf(v.typ)))
			days, second = FloorDiv(unix, 86400)
			second += LocalOffset(loc, unix)
		}
		return Int64(civilField(f, days, second)), nil
	})
}

// civilField is a field of a number of days after 1970-01-01 and seconds on
// top. Package time counts days within one of the 400-year cycles, which are
// all alike.
func civilField(f TemporalField, days, second int64) int64 {
	cycle, day := FloorDiv(days, 146097)
	at := time.Unix(day*86400+second, 0).UTC()
	switch f {
	case Year:
		return int64(at.Year()) + 400*cycle
	case Month:
		return int64(at.Month())
	case Day:
		return int64(at.Day())
	case Hour:
		return int64(at.Hour())
	case Minute:
		return int64(at.Minute())
	case Second:
		return int64(at.Second())
	case DayOfWeek:
		return (int64(at.Weekday()) + 6) % 7 // 146097 is a multiple of 7
	default:
		return int64(at.YearDay())
	}
}
