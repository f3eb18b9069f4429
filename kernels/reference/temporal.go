package reference

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func temporal(ctx context.Context, s device.Stream, f kernels.TemporalField, c *memory.Column) (*memory.Column, error) {
	loc, err := kernels.Zone(c.Type())
	if err != nil {
		return nil, err
	}
	t := arrow.PrimitiveTypes.Int64
	return kernels.BuildColumn(ctx, s, t, c.Len(), func(i int64) (kernels.Scalar, error) {
		v := kernels.ScalarAt(c, i)
		if !v.Valid() {
			return kernels.Null(t), nil
		}
		var days, second int64
		if v.Type().ID() == arrow.DATE32 {
			days = v.Int64()
		} else {
			unix, _ := kernels.FloorDiv(v.Int64(), kernels.PerSecond(kernels.UnitOf(v.Type())))
			days, second = kernels.FloorDiv(unix, 86400)
			second += kernels.LocalOffset(loc, unix)
		}
		return kernels.Int64(civilField(f, days, second)), nil
	})
}

// civilField is a field of a number of days after 1970-01-01 and seconds on
// top. Package time counts days within one of the 400-year cycles, which are
// all alike.
func civilField(f kernels.TemporalField, days, second int64) int64 {
	cycle, day := kernels.FloorDiv(days, 146097)
	at := time.Unix(day*86400+second, 0).UTC()
	switch f {
	case kernels.Year:
		return int64(at.Year()) + 400*cycle
	case kernels.Month:
		return int64(at.Month())
	case kernels.Day:
		return int64(at.Day())
	case kernels.Hour:
		return int64(at.Hour())
	case kernels.Minute:
		return int64(at.Minute())
	case kernels.Second:
		return int64(at.Second())
	case kernels.DayOfWeek:
		return (int64(at.Weekday()) + 6) % 7 // 146097 is a multiple of 7
	default:
		return int64(at.YearDay())
	}
}
