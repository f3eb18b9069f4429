package kernels

import (
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
)

// AppendText appends a value that is not null as Cast writes it to utf8: the
// texts that Cast reads back. Floats are the shortest digits that read back the
// same, without an exponent from 1e-5 to 1e16; fractions of seconds have all
// the digits of their unit; a zoned timestamp is the local time and its offset.
func AppendText(b []byte, v Scalar) []byte {
	switch kindOf(v.typ) {
	case boolKind:
		return strconv.AppendBool(b, v.Bool())
	case intKind:
		if UnsignedTypes.Has(v.typ.ID()) {
			return strconv.AppendUint(b, v.bits, 10)
		}
		return strconv.AppendInt(b, v.Int64(), 10)
	case floatKind:
		size := 64
		if v.typ.ID() == arrow.FLOAT32 {
			size = 32
		}
		return AppendFloat(b, v.Float64(), size)
	case decimalKind:
		return appendDecimal(b, v)
	case dateKind:
		days, _ := FloorDiv(v.Int64(), perDay(v.typ))
		return appendDate(b, days)
	case timeKind:
		return appendClock(b, v.Int64(), UnitOf(v.typ))
	case timestampKind:
		return appendTimestamp(b, v)
	case durationKind:
		return append(strconv.AppendInt(b, v.Int64(), 10), UnitOf(v.typ).String()...)
	default:
		return append(b, v.text...)
	}
}

// AppendFloat appends a float of 32 or 64 bits as AppendText does.
func AppendFloat(b []byte, f float64, size int) []byte {
	switch a := math.Abs(f); {
	case f != f:
		return append(b, "NaN"...)
	case a > math.MaxFloat64:
		return append(b, map[bool]string{false: "inf", true: "-inf"}[f < 0]...)
	case a != 0 && (a < 1e-5 || a >= 1e16):
		return strconv.AppendFloat(b, f, 'e', -1, size)
	default:
		return strconv.AppendFloat(b, f, 'f', -1, size)
	}
}

func appendDecimal(b []byte, v Scalar) []byte {
	scale := int(v.typ.(*arrow.Decimal128Type).Scale)
	n := v.Big()
	if n.Sign() < 0 {
		b = append(b, '-')
		n.Neg(n)
	}
	digits := n.String()
	if scale <= 0 {
		b = append(b, digits...)
		for ; scale < 0 && n.Sign() != 0; scale++ {
			b = append(b, '0')
		}
		return b
	}
	for len(digits) <= scale {
		digits = "0" + digits
	}
	point := len(digits) - scale
	b = append(b, digits[:point]...)
	b = append(b, '.')
	return append(b, digits[point:]...)
}

// appendPadded appends n >= 0 with at least width digits.
func appendPadded(b []byte, n int64, width int) []byte {
	for w, limit := 1, int64(10); w < width; w, limit = w+1, limit*10 {
		if n < limit {
			b = append(b, '0')
		}
	}
	return strconv.AppendInt(b, n, 10)
}

func appendDate(b []byte, days int64) []byte {
	year, month, day := Civil(days)
	switch {
	case year < 0:
		b = append(b, '-')
		year = -year
	case year > 9999:
		b = append(b, '+')
	}
	b = append(appendPadded(b, year, 4), '-')
	b = append(appendPadded(b, int64(month), 2), '-')
	return appendPadded(b, int64(day), 2)
}

// appendClock appends a time of day. A value outside of a day, which no time
// should have, shows its sign and hours past 23.
func appendClock(b []byte, n int64, u arrow.TimeUnit) []byte {
	abs := uint64(n)
	if n < 0 {
		b = append(b, '-')
		abs = -abs
	}
	per := uint64(PerSecond(u))
	second, fraction := abs/per, abs%per
	b = append(appendPadded(b, int64(second/3600), 2), ':')
	b = append(appendPadded(b, int64(second/60%60), 2), ':')
	b = appendPadded(b, int64(second%60), 2)
	if digits := 3 * int(u); digits > 0 {
		b = appendPadded(append(b, '.'), int64(fraction), digits)
	}
	return b
}

func appendTimestamp(b []byte, v Scalar) []byte {
	t := v.typ.(*arrow.TimestampType)
	per := PerSecond(t.Unit)
	second, fraction := FloorDiv(v.Int64(), per)
	offset := int64(0)
	if loc, err := Zone(t); err == nil {
		offset = LocalOffset(loc, second)
	}
	days, clock := FloorDiv(second, 86400)
	carry, clock := FloorDiv(clock+offset, 86400)
	b = append(appendDate(b, days+carry), ' ')
	b = appendClock(b, clock*per+fraction, t.Unit)
	if t.TimeZone == "" {
		return b
	}
	if offset == 0 {
		return append(b, 'Z')
	}
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	b = appendPadded(append(b, sign), offset/3600, 2)
	b = appendPadded(append(b, ':'), offset/60%60, 2)
	if offset%60 != 0 { // local mean times of the nineteenth century
		b = appendPadded(append(b, ':'), offset%60, 2)
	}
	return b
}
