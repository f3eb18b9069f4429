package kernels

import (
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// notA is the error of a text that is no value of a type.
func notA(text string, to arrow.DataType) error {
	if len(text) > 64 {
		text = text[:64] + "…"
	}
	return badValue("%q is no %s", text, to)
}

// parse reads a text as a value of a type.
func parse(text string, to arrow.DataType, o CastOptions) (Scalar, error) {
	switch kindOf(to) {
	case boolKind:
		switch strings.ToLower(text) {
		case "true", "1":
			return Bool(true), nil
		case "false", "0":
			return Bool(false), nil
		}
		return Scalar{}, notA(text, to)
	case intKind:
		return parseInt(text, to, o)
	case floatKind:
		return parseFloat(text, to, o)
	case decimalKind:
		return parseDecimal(text, to.(*arrow.Decimal128Type), o)
	case durationKind:
		return parseDuration(text, to, o)
	default:
		return parseTemporal(text, to, o)
	}
}

// parseInt reads an integer. One past the range of the type wraps where o says
// so and 64 bits hold it.
func parseInt(text string, to arrow.DataType, o CastOptions) (Scalar, error) {
	if UnsignedTypes.Has(to.ID()) && !strings.HasPrefix(text, "-") {
		n, err := strconv.ParseUint(strings.TrimPrefix(text, "+"), 10, 64)
		if err != nil || strings.HasPrefix(text, "++") {
			return Scalar{}, notA(text, to)
		}
		r := Int(to, int64(n))
		if r.bits != n && !o.Wrap {
			return Scalar{}, notA(text, to)
		}
		return r, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return Scalar{}, notA(text, to)
	}
	r := Int(to, n)
	if !o.Wrap && !fromInt(Int64(n), r) {
		return Scalar{}, notA(text, to)
	}
	return r, nil
}

// parseFloat reads a decimal float; one past the range is infinite where o
// says so.
func parseFloat(text string, to arrow.DataType, o CastOptions) (Scalar, error) {
	if strings.ContainsAny(text, "xX_") {
		return Scalar{}, notA(text, to)
	}
	size := 64
	if to.ID() == arrow.FLOAT32 {
		size = 32
	}
	f, err := strconv.ParseFloat(text, size)
	if err != nil && !(o.Wrap && errors.Is(err, strconv.ErrRange)) {
		return Scalar{}, notA(text, to)
	}
	return Float(to, f), nil
}

func parseDecimal(text string, to *arrow.Decimal128Type, o CastOptions) (Scalar, error) {
	mantissa, exponent := text, int64(0)
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.ParseInt(text[i+1:], 10, 16)
		if err != nil {
			return Scalar{}, notA(text, to)
		}
		mantissa, exponent = text[:i], e
	}
	sign := ""
	if mantissa != "" && (mantissa[0] == '-' || mantissa[0] == '+') {
		sign, mantissa = mantissa[:1], mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if digits == "" || strings.Trim(digits, "0123456789") != "" || len(digits) > 1000 {
		return Scalar{}, notA(text, to)
	}
	n, _ := new(big.Int).SetString(digits, 10)
	if sign == "-" {
		n.Neg(n)
	}
	n, exact := Rescale(n, int32(int64(to.Scale)-int64(len(fraction))+exponent))
	r, fits := FromBig(n, to)
	if !o.Wrap && !exact {
		return Scalar{}, badValue("%q has more digits than %s", text, to)
	}
	if !o.Wrap && !fits {
		return Scalar{}, notA(text, to)
	}
	return r, nil
}

func parseDuration(text string, to arrow.DataType, o CastOptions) (Scalar, error) {
	digits := strings.TrimRight(text, "munsµ")
	unit := -1
	for u, name := range []string{"s", "ms", "us", "ns"} {
		if text[len(digits):] == name {
			unit = u
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || unit < 0 {
		return Scalar{}, notA(text, to)
	}
	return castTemporal(Int(&arrow.DurationType{Unit: arrow.TimeUnit(unit)}, n), to, o)
}

// cursor reads a text from the left; ok turns false at the first thing amiss.
type cursor struct {
	rest string
	ok   bool
}

// number takes between least and most digits.
func (c *cursor) number(least, most int) (n int64) {
	k := 0
	for k < len(c.rest) && k < most && c.rest[k]-'0' <= 9 {
		n = n*10 + int64(c.rest[k]-'0')
		k++
	}
	c.rest, c.ok = c.rest[k:], c.ok && k >= least
	return n
}

// take takes one byte if it is among those given.
func (c *cursor) take(among string) byte {
	if c.rest == "" || !strings.Contains(among, c.rest[:1]) {
		return 0
	}
	b := c.rest[0]
	c.rest = c.rest[1:]
	return b
}

func (c *cursor) must(among string) {
	if c.take(among) == 0 {
		c.ok = false
	}
}

func (c *cursor) in(n, least, most int64) int64 {
	c.ok = c.ok && n >= least && n <= most
	return n
}

// date reads year, month and day as days from 1970-01-01.
func (c *cursor) date() int64 {
	sign := c.take("+-")
	year := int64(0)
	if sign == 0 {
		year = c.number(4, 4)
	} else {
		year = c.number(4, 12)
	}
	if sign == '-' {
		year = -year
	}
	c.must("-")
	month := c.in(c.number(2, 2), 1, 12)
	c.must("-")
	day := c.in(c.number(2, 2), 1, 31)
	days := Days(year, int(month), int(day))
	if _, m, d := Civil(days); int64(m) != month || int64(d) != day {
		c.ok = false // no such day in that month
	}
	return days
}

// clock reads a time of day: seconds, and the digits of the fraction as
// nanoseconds; more than nine must be zeros.
func (c *cursor) clock() (second, nano int64) {
	second = 3600 * c.in(c.number(2, 2), 0, 23)
	c.must(":")
	second += 60 * c.in(c.number(2, 2), 0, 59)
	if c.take(":") == 0 {
		return second, 0
	}
	second += c.in(c.number(2, 2), 0, 59)
	if c.take(".") == 0 {
		return second, 0
	}
	before := len(c.rest)
	nano = c.number(1, 9)
	for k := before - len(c.rest); k < 9; k++ {
		nano *= 10
	}
	for c.take("0") != 0 {
	}
	return second, nano
}

// zone reads "Z", "+01", "+0100", "+01:00" or "+00:09:21" as seconds.
func (c *cursor) zone() (offset int64, found bool) {
	switch sign := c.take("Z+-"); sign {
	case 0:
		return 0, false
	case 'Z':
		return 0, true
	default:
		offset = 3600 * c.in(c.number(2, 2), 0, 23)
		colon := c.take(":") != 0
		if colon || c.rest != "" {
			offset += 60 * c.in(c.number(2, 2), 0, 59)
		}
		if colon && c.take(":") != 0 {
			offset += c.in(c.number(2, 2), 0, 59)
		}
		if sign == '-' {
			offset = -offset
		}
		return offset, true
	}
}

// parseTemporal reads dates, times and timestamps.
func parseTemporal(text string, to arrow.DataType, o CastOptions) (Scalar, error) {
	c := cursor{text, true}
	var days, second, nano int64
	into := kindOf(to)
	if into != timeKind {
		days = c.date()
	}
	switch into {
	case timeKind:
		second, nano = c.clock()
	case timestampKind:
		zoned := to.(*arrow.TimestampType).TimeZone != ""
		if c.take("T ") != 0 {
			second, nano = c.clock()
			offset, found := c.zone()
			second -= offset
			if c.ok && c.rest == "" && found != zoned {
				return Scalar{}, badValue("%q as %s: an offset from UTC is given exactly where the type has a zone", text, to)
			}
		} else if c.ok && c.rest == "" && zoned {
			return Scalar{}, badValue("%q as %s: the type has a zone, the text no offset from UTC", text, to)
		}
	}
	if !c.ok || c.rest != "" {
		return Scalar{}, notA(text, to)
	}
	if to.ID() == arrow.DATE32 {
		r := Int(to, days)
		if r.Int64() != days && !o.Wrap {
			return Scalar{}, notA(text, to)
		}
		return r, nil
	}
	per := PerSecond(UnitOf(to))
	exact := nano%(1e9/per) == 0
	n := new(big.Int).Mul(big.NewInt(days), big.NewInt(86400))
	n.Add(n, big.NewInt(second)).Mul(n, big.NewInt(per)).Add(n, big.NewInt(nano/(1e9/per)))
	low := int64(new(big.Int).And(n, new(big.Int).SetUint64(1<<64-1)).Uint64())
	r := Int(to, low)
	if !o.Wrap && !exact {
		return Scalar{}, badValue("%q loses precision as %s", text, to)
	}
	if !o.Wrap && (!n.IsInt64() || r.Int64() != low) {
		return Scalar{}, notA(text, to)
	}
	return r, nil
}
