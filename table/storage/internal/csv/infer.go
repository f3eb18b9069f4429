package csv

import (
	"github.com/apache/arrow-go/v18/arrow"
)

// Guess is what the values of a column seen so far may be.
type Guess struct {
	seen                   bool // a value that is not null
	number                 bool // a value written with digits, not NaN or Inf
	bool, int, float, date bool
	local, zoned           bool // points in time without and with an offset
	sub                    bool // parts of a microsecond
}

// NewGuess is a guess that has seen no value.
func NewGuess() Guess {
	return Guess{bool: true, int: true, float: true, date: true, local: true, zoned: true}
}

// Add narrows the guess by a value. Blanks round it say nothing: the parsers of all
// types but texts pass over them.
func (g *Guess) Add(b []byte) {
	b = Trim(b)
	g.seen = true
	switch text(b) {
	case "true", "false", "True", "False", "TRUE", "FALSE":
	default:
		g.bool = false
	}
	plain := isNumber(b)
	if _, ok := ParseInt(b, -1<<63, 1<<63-1); !ok || !plain {
		g.int = false
	}
	if g.float {
		_, ok := parseFloat(b, 64)
		g.number = g.number || ok && plain
		g.float = ok && (plain || isSpecial(b))
	}
	if _, ok := ParseDate(b); !ok {
		g.date = false
	}
	if g.local || g.zoned {
		c, ok := parsePoint(b)
		g.local = g.local && ok && !c.zoned
		g.zoned = g.zoned && ok && c.zoned
		g.sub = g.sub || ok && c.nanos%1000 != 0
	}
}

// Integer reports whether there was a value and all of them are integers.
func (g *Guess) Integer() bool { return g.seen && g.int }

// Date reports whether there was a value and all of them are dates.
func (g *Guess) Date() bool { return g.seen && g.date }

// isNumber reports whether b is digits with at most a sign, a point and an
// exponent. A leading zero before another digit makes it a text: such are
// codes, and as numbers they would lose it.
func isNumber(b []byte) bool {
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 1 && b[0] == '0' && b[1] >= '0' && b[1] <= '9' {
		return false
	}
	digit := false
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9':
			digit = true
		case c == '.', c == 'e', c == 'E':
		case (c == '-' || c == '+') && i > 0 && (b[i-1] == 'e' || b[i-1] == 'E'):
		default:
			return false
		}
	}
	return digit
}

// isSpecial reports whether b is how floats that are no numbers are written.
func isSpecial(b []byte) bool {
	switch text(b) {
	case "NaN", "nan", "Inf", "inf", "+Inf", "+inf", "-Inf", "-inf":
		return true
	}
	return false
}

// DataType is the narrowest of bool, int64, float64, date32, timestamp and utf8
// that holds all values. A column without a value is utf8.
func (g *Guess) DataType() arrow.DataType {
	unit := arrow.Microsecond
	if g.sub {
		unit = arrow.Nanosecond
	}
	switch {
	case !g.seen:
		return arrow.BinaryTypes.String
	case g.bool:
		return arrow.FixedWidthTypes.Boolean
	case g.int:
		return arrow.PrimitiveTypes.Int64
	case g.float && g.number:
		return arrow.PrimitiveTypes.Float64
	case g.date:
		return arrow.FixedWidthTypes.Date32
	case g.local:
		return &arrow.TimestampType{Unit: unit}
	case g.zoned:
		return &arrow.TimestampType{Unit: unit, TimeZone: "UTC"}
	}
	return arrow.BinaryTypes.String
}
