package kernels

import (
	"context"
	"time"
	_ "time/tzdata" // named zones must mean the same on a bare container and on Windows; 450 kB

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// TemporalField is a part of a date or time.
type TemporalField int

// The fields, all int64: in UTC, or in the timestamp's own zone if it has one.
const (
	Year TemporalField = iota
	Month
	Day
	Hour
	Minute
	Second
	DayOfWeek // Monday is 0, as in Arrow
	DayOfYear // from 1
)

// String is the name as SQL has it.
func (f TemporalField) String() string {
	return symbol(int(f), "year", "month", "day", "hour", "minute", "second", "day_of_week", "day_of_year")
}

// TemporalFunc extracts a field of dates, times and timestamps as int64, by
// the proleptic Gregorian calendar; a fraction of a second is cut off downwards.
type TemporalFunc func(ctx context.Context, s device.Stream, f TemporalField, c *memory.Column) (*memory.Column, error)

// TemporalType is int64 where f is a part of t: any field of a timestamp, the
// calendar's fields of a date, the clock's of a time. Else, and for a
// timestamp in a zone that does not exist, it is an ErrUnsupported.
func TemporalType(f TemporalField, t arrow.DataType) (arrow.DataType, error) {
	clock := f == Hour || f == Minute || f == Second
	ok := f >= Year && f <= DayOfYear
	switch t.ID() {
	case arrow.DATE32, arrow.DATE64:
		ok = ok && !clock
	case arrow.TIME32, arrow.TIME64:
		ok = ok && clock
	case arrow.TIMESTAMP:
		if _, err := Zone(t); err != nil {
			return nil, err
		}
	default:
		ok = false
	}
	if !ok {
		return nil, unsupported("%s of %s", f, t)
	}
	return arrow.PrimitiveTypes.Int64, nil
}

// Zone is the place whose clock a timestamp type shows: UTC where it names
// none, else by name ("Europe/Paris") or offset ("+05:30"). The zone rules are
// those of the system, or those built into the program where it has none. An
// unknown name is an ErrUnsupported.
func Zone(t arrow.DataType) (*time.Location, error) {
	ts, ok := t.(*arrow.TimestampType)
	if !ok {
		return time.UTC, nil
	}
	loc, err := ts.GetZone()
	if err != nil {
		return nil, unsupported("%s: no time zone %q", t, ts.TimeZone)
	}
	return loc, nil
}

// PerSecond is how many units make a second.
func PerSecond(u arrow.TimeUnit) int64 {
	return [...]int64{1, 1e3, 1e6, 1e9}[u]
}

// UnitOf is the unit that a temporal type but date32 counts in; a date64
// counts milliseconds.
func UnitOf(t arrow.DataType) arrow.TimeUnit {
	if u, ok := t.(arrow.TemporalWithUnit); ok {
		return u.TimeUnit()
	}
	return arrow.Millisecond
}

// FloorDiv is a/b rounded down and the rest, which is in [0, b), for b > 0.
func FloorDiv(a, b int64) (quotient, rest int64) {
	quotient, rest = a/b, a%b
	if rest < 0 {
		quotient, rest = quotient-1, rest+b
	}
	return quotient, rest
}

// Civil is the date that is so many days after 1970-01-01 in the proleptic
// Gregorian calendar, for |days| < 2^60. The method is days_from_civil's
// inverse of Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
func Civil(days int64) (year int64, month, day int) {
	era, doe := FloorDiv(days+719468, 146097) // eras of 400 years from 0000-03-01
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	day = int(doy - (153*mp+2)/5 + 1)
	month = int(mp + 3)
	year = yoe + era*400
	if month > 12 {
		month, year = month-12, year+1
	}
	return year, month, day
}

// Days is the number of days from 1970-01-01 to a date of the proleptic
// Gregorian calendar, for |year| < 2^52. The source is as Civil's.
func Days(year int64, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	era, yoe := FloorDiv(year, 400)
	doy := (153*int64(month-3)+2)/5 + int64(day) - 1
	return era*146097 + yoe*365 + yoe/4 - yoe/100 + doy - 719468
}

// Temporal extracts a field of each date, time or timestamp of c as int64; nulls
// stay null. A field that the type has not got is an ErrUnsupported.
func (b *Backend) Temporal(ctx context.Context, s device.Stream, f TemporalField, c *memory.Column) (out *memory.Column, err error) {
	const call = "temporal"
	defer b.guard(call, &err)
	if err = b.present(call, c); err != nil {
		return nil, err
	}
	if _, err = TemporalType(f, c.Type()); err != nil {
		return nil, err
	}
	e := b.Set.Temporal
	if err = b.admit(ctx, s, call, e.Func != nil, e.Types, c); err != nil {
		return nil, err
	}
	return e.Func(ctx, s, f, c)
}
