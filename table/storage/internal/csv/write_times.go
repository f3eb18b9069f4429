package csv

import (
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

const (
	secondsPerDay = 86_400
	firstDay      = -719_528  // 0000-01-01, in days since 1970
	lastDay       = 2_932_896 // 9999-12-31
)

// timeFormatter appends dates as 2006-01-02, times as 15:04:05 with the digits
// of their unit, timestamps as both with a space between them, or with a T and a
// Z where they have a zone.
func timeFormatter(c arrow.Array) (func(b []byte, row int) []byte, error) {
	switch c := c.(type) {
	case *array.Date32:
		return func(b []byte, row int) []byte { return appendDay(b, int64(c.Value(row))) }, nil
	case *array.Date64:
		const perDay = secondsPerDay * 1000
		return func(b []byte, row int) []byte { return appendDay(b, floorDiv(int64(c.Value(row)), perDay)) }, nil
	case *array.Time32:
		clock := clockTextOf(c.DataType().(*arrow.Time32Type).Unit)
		return func(b []byte, row int) []byte { return clock.append(b, int64(c.Value(row))) }, nil
	case *array.Time64:
		clock := clockTextOf(c.DataType().(*arrow.Time64Type).Unit)
		return func(b []byte, row int) []byte { return clock.append(b, int64(c.Value(row))) }, nil
	case *array.Timestamp:
		t := c.DataType().(*arrow.TimestampType)
		clock := clockTextOf(t.Unit)
		if t.TimeZone == "" {
			return func(b []byte, row int) []byte { return clock.moment(b, int64(c.Value(row)), ' ') }, nil
		}
		return func(b []byte, row int) []byte { return append(clock.moment(b, int64(c.Value(row)), 'T'), 'Z') }, nil
	}
	return nil, fmt.Errorf("columns of type %s in CSV", c.DataType())
}

// floorDiv is a / b rounded down.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// appendDay writes a day since 1970, in UTC.
func appendDay(b []byte, day int64) []byte {
	if day < firstDay || day > lastDay { // years that have no four digits
		return time.Unix(day*secondsPerDay, 0).UTC().AppendFormat(b, time.DateOnly)
	}
	// Days from 0000-03-01, in eras of 400 years, so that leap days come last.
	z := day - firstDay - 60
	era := floorDiv(z, 146_097)
	of := z - era*146_097
	year := (of - of/1460 + of/36_524 - of/146_096) / 365
	in := of - (365*year + year/4 - year/100)
	month := (5*in + 2) / 153
	date := in - (153*month+2)/5 + 1
	if year += era * 400; month < 10 {
		month += 3
	} else {
		month, year = month-9, year+1
	}
	b = appendTwo(appendTwo(b, year/100), year%100)
	b = appendTwo(append(b, '-'), month)
	return appendTwo(append(b, '-'), date)
}

func appendTwo(b []byte, v int64) []byte { return append(b, byte('0'+v/10), byte('0'+v%10)) }

// clockText writes the time of day of counts of a unit.
type clockText struct {
	perSecond int64
	digits    int // of the part of a second
}

func clockTextOf(u arrow.TimeUnit) clockText {
	return clockText{int64(time.Second / u.Multiplier()), map[arrow.TimeUnit]int{arrow.Millisecond: 3, arrow.Microsecond: 6, arrow.Nanosecond: 9}[u]}
}

// moment writes the day and the time of a count since 1970.
func (c clockText) moment(b []byte, v int64, between byte) []byte {
	day := floorDiv(v, c.perSecond*secondsPerDay)
	if day < firstDay || day > lastDay {
		b = time.Unix(floorDiv(v, c.perSecond), 0).UTC().AppendFormat(b, time.DateOnly)
	} else {
		b = appendDay(b, day)
	}
	return c.append(append(b, between), v)
}

func (c clockText) append(b []byte, v int64) []byte {
	perDay := c.perSecond * secondsPerDay
	if v %= perDay; v < 0 {
		v += perDay
	}
	second, part := v/c.perSecond, v%c.perSecond
	b = append(appendTwo(b, second/3600), ':')
	b = append(appendTwo(b, second/60%60), ':')
	b = appendTwo(b, second%60)
	if c.digits == 0 {
		return b
	}
	b = append(b, ".000000000"[:c.digits+1]...)
	for i := len(b) - 1; part > 0; i-- {
		b[i] = byte('0' + part%10)
		part /= 10
	}
	return b
}
