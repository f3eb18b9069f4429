package csv

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// clock is a time of day or a point in time as read, with nanoseconds.
type clock struct {
	seconds int64 // since midnight, or since 1970
	nanos   int64
	zoned   bool // an offset or Z was written
}

// ParseDate reads YYYY-MM-DD as days since 1970-01-01.
func ParseDate(b []byte) (int64, bool) {
	if len(b) != 10 || b[4] != '-' || b[7] != '-' {
		return 0, false
	}
	y, ok1 := parseDigits(b[:4])
	m, ok2 := parseDigits(b[5:7])
	d, ok3 := parseDigits(b[8:])
	if !ok1 || !ok2 || !ok3 || m < 1 || m > 12 || d < 1 || d > daysIn(y, m) {
		return 0, false
	}
	return daysSince1970(int64(y), int64(m), int64(d)), true
}

func daysIn(y, m uint64) uint64 {
	switch {
	case m == 2 && (y%4 == 0 && y%100 != 0 || y%400 == 0):
		return 29
	case m == 2:
		return 28
	case m == 4 || m == 6 || m == 9 || m == 11:
		return 30
	}
	return 31
}

// daysSince1970 counts days of the proleptic Gregorian calendar, for years
// from 0 on. https://howardhinnant.github.io/date_algorithms.html#days_from_civil
func daysSince1970(y, m, d int64) int64 {
	if m <= 2 {
		y, m = y-1, m+12
	}
	era := (y + 400) / 400 // y may be -1
	of := y + 400 - era*400
	return (era-1)*146097 + of*365 + of/4 - of/100 + (153*(m-3)+2)/5 + d - 1 - 719468
}

// parseClock reads HH:MM, HH:MM:SS or HH:MM:SS.fraction with up to nine digits,
// and returns what follows.
func parseClock(b []byte) (c clock, rest []byte, ok bool) {
	pair := func(limit uint64) int64 {
		if len(b) < 2 {
			ok = false
			return 0
		}
		v, good := parseDigits(b[:2])
		ok = ok && good && v < limit
		b = b[2:]
		return int64(v)
	}
	ok = true
	c.seconds = pair(24) * 3600
	if !ok || len(b) == 0 || b[0] != ':' {
		return c, nil, false
	}
	b = b[1:]
	c.seconds += pair(60) * 60
	if !ok || len(b) == 0 || b[0] != ':' {
		return c, b, ok
	}
	b = b[1:]
	c.seconds += pair(60)
	if !ok || len(b) < 2 || b[0] != '.' {
		return c, b, ok
	}
	b = b[1:]
	n := 0
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	if n == 0 || n > 9 {
		return c, nil, false
	}
	v, _ := parseDigits(b[:n])
	c.nanos = int64(v)
	for k := n; k < 9; k++ {
		c.nanos *= 10
	}
	return c, b[n:], true
}

// parsePoint reads a date, alone or followed by T or a space and a time, and
// that by nothing, Z, ±HH:MM, ±HHMM or ±HH.
func parsePoint(b []byte) (c clock, ok bool) {
	if len(b) < 10 {
		return c, false
	}
	days, ok := ParseDate(b[:10])
	if !ok || len(b) == 10 {
		return clock{seconds: days * 86400}, ok
	}
	if b[10] != 'T' && b[10] != ' ' {
		return c, false
	}
	c, rest, ok := parseClock(b[11:])
	c.seconds += days * 86400
	if !ok || len(rest) == 0 {
		return c, ok
	}
	c.zoned = true
	if len(rest) == 1 && (rest[0] == 'Z' || rest[0] == 'z') {
		return c, true
	}
	sign := int64(1)
	switch rest[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return c, false
	}
	hours, minutes := rest[1:], []byte("00")
	switch {
	case len(rest) == 6 && rest[3] == ':':
		hours, minutes = rest[1:3], rest[4:]
	case len(rest) == 5:
		hours, minutes = rest[1:3], rest[3:]
	}
	h, ok1 := parseDigits(hours)
	m, ok2 := parseDigits(minutes)
	c.seconds -= sign * int64(h*3600+m*60)
	return c, ok1 && ok2 && len(hours) == 2 && h < 24 && m < 60
}

// in is the clock in a unit. Digits that the unit has not got are a fault, as
// is what leaves the range of an int64.
func (c clock) in(u arrow.TimeUnit) (int64, bool) {
	per := int64(u.Multiplier())
	if c.nanos%per != 0 {
		return 0, false
	}
	each := int64(1e9) / per
	v := c.seconds * each
	if v/each != c.seconds {
		return 0, false
	}
	sum := v + c.nanos/per
	return sum, sum >= v
}

func temporalParser(t arrow.DataType) *Parser {
	wide := func(f func(b []byte) (int64, bool)) *Parser {
		return &Parser{width: 8, fixed: func(b, out []byte) bool {
			v, ok := f(Trim(b))
			store(out, v)
			return ok
		}}
	}
	narrow := func(f func(b []byte) (int64, bool)) *Parser {
		return &Parser{width: 4, fixed: func(b, out []byte) bool {
			v, ok := f(Trim(b))
			store(out, int32(v))
			return ok
		}}
	}
	ofDay := func(b []byte) (int64, bool) {
		c, rest, ok := parseClock(b)
		if !ok || len(rest) != 0 {
			return 0, false
		}
		return c.in(t.(arrow.TemporalWithUnit).TimeUnit())
	}
	switch t := t.(type) {
	case *arrow.Date32Type:
		return narrow(ParseDate)
	case *arrow.Date64Type:
		return wide(func(b []byte) (int64, bool) {
			d, ok := ParseDate(b)
			return d * 86_400_000, ok
		})
	case *arrow.Time32Type:
		return narrow(ofDay)
	case *arrow.Time64Type:
		return wide(ofDay)
	case *arrow.TimestampType:
		return wide(func(b []byte) (int64, bool) {
			c, ok := parsePoint(b)
			if !ok || c.zoned != (t.TimeZone != "") {
				return 0, false
			}
			return c.in(t.Unit)
		})
	}
	return nil
}
