package csv

import (
	"bytes"
	"fmt"
	"math/bits"
	"strings"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/volley-go/volley/device"
)

// text is b as a string without a copy, for functions that do not keep it.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Trim takes off the spaces that may stand round a number.
func Trim(b []byte) []byte {
	if len(b) > 0 && b[0] > ' ' && b[len(b)-1] > ' ' {
		return b
	}
	return bytes.Trim(b, " \t")
}

// ParseInt reads a whole number in decimal, with an optional sign.
func ParseInt(b []byte, low, high int64) (int64, bool) {
	b = Trim(b)
	if len(b) > 0 && b[0] == '+' {
		b = b[1:]
		if len(b) > 0 && b[0] == '-' {
			return 0, false
		}
	}
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	u, ok := parseDigits(b)
	switch {
	case !ok:
		return 0, false
	case negative && u <= 1<<63:
		v := int64(-u)
		return v, v >= low
	case negative || u > 1<<63-1:
		return 0, false
	}
	return int64(u), int64(u) <= high
}

// parseUint reads a whole number that is not negative.
func parseUint(b []byte, high uint64) (uint64, bool) {
	b = Trim(b)
	if len(b) > 0 && b[0] == '+' {
		b = b[1:]
	}
	u, ok := parseDigits(b)
	return u, ok && u <= high
}

// parseBool reads true, false, t, f, 1 and 0, in any case.
func parseBool(b []byte) (v, ok bool) {
	switch b = Trim(b); {
	case len(b) == 1:
		switch b[0] {
		case '1', 't', 'T':
			return true, true
		case '0', 'f', 'F':
			return false, true
		}
	case strings.EqualFold(text(b), "true"):
		return true, true
	case strings.EqualFold(text(b), "false"):
		return false, true
	}
	return false, false
}

// parseDecimal reads a decimal of at most that precision and scale. Digits that
// would be lost are a fault.
func parseDecimal(b []byte, precision, scale int32) (decimal128.Num, bool) {
	b = Trim(b)
	negative := len(b) > 0 && b[0] == '-'
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	var high, low uint64
	digits, after, seen, point := int32(0), int32(0), false, false
	push := func(c byte) {
		carry, l := bits.Mul64(low, 10)
		l, over := bits.Add64(l, uint64(c), 0)
		high, low = high*10+carry+over, l
		if digits > 0 || c != 0 {
			digits++
		}
	}
	for _, c := range b {
		switch {
		case c == '.' && !point:
			point = true
		case c < '0' || c > '9':
			return decimal128.Num{}, false
		case point && after == scale:
			if c != '0' {
				return decimal128.Num{}, false
			}
			seen = true
		default:
			seen = true
			push(c - '0')
			if point {
				after++
			}
		}
		if digits > precision {
			return decimal128.Num{}, false
		}
	}
	for ; after < scale; after++ {
		if push(0); digits > precision {
			return decimal128.Num{}, false
		}
	}
	n := decimal128.New(int64(high), low)
	if negative {
		n = n.Negate()
	}
	return n, seen && scale >= 0
}

// Parser puts the text of a value of some type into a column's builder.
type Parser struct {
	bits  func(b []byte) (bool, bool)
	fixed func(b []byte, out []byte) bool // out is one value, zeroed
	width int
	text  bool // strings and bytes go as they are
	utf8  bool
	large bool
	shape shape
}

// shape is which loop over a whole column a parser has.
type shape uint8

const (
	noShape shape = iota
	int64Shape
	float64Shape
)

// store writes one value of T.
func store[T any](out []byte, v T) { *(*T)(unsafe.Pointer(unsafe.SliceData(out))) = v }

func signed[T int8 | int16 | int32 | int64](low, high int64) *Parser {
	return &Parser{width: int(unsafe.Sizeof(T(0))), fixed: func(b, out []byte) bool {
		v, ok := ParseInt(b, low, high)
		store(out, T(v))
		return ok
	}}
}

func unsigned[T uint8 | uint16 | uint32 | uint64](high uint64) *Parser {
	return &Parser{width: int(unsafe.Sizeof(T(0))), fixed: func(b, out []byte) bool {
		v, ok := parseUint(b, high)
		store(out, T(v))
		return ok
	}}
}

// ParserOf is the parser of a type, or an ErrUnsupported.
func ParserOf(t arrow.DataType) (*Parser, error) {
	switch t.ID() {
	case arrow.BOOL:
		return &Parser{bits: parseBool}, nil
	case arrow.INT8:
		return signed[int8](-1<<7, 1<<7-1), nil
	case arrow.INT16:
		return signed[int16](-1<<15, 1<<15-1), nil
	case arrow.INT32:
		return signed[int32](-1<<31, 1<<31-1), nil
	case arrow.INT64, arrow.DURATION:
		p := signed[int64](-1<<63, 1<<63-1)
		p.shape = int64Shape
		return p, nil
	case arrow.UINT8:
		return unsigned[uint8](1<<8 - 1), nil
	case arrow.UINT16:
		return unsigned[uint16](1<<16 - 1), nil
	case arrow.UINT32:
		return unsigned[uint32](1<<32 - 1), nil
	case arrow.UINT64:
		return unsigned[uint64](1<<64 - 1), nil
	case arrow.FLOAT32:
		return &Parser{width: 4, fixed: func(b, out []byte) bool {
			v, ok := parseFloat(b, 32)
			store(out, float32(v))
			return ok
		}}, nil
	case arrow.FLOAT64:
		return &Parser{width: 8, shape: float64Shape, fixed: func(b, out []byte) bool {
			v, ok := parseFloat(b, 64)
			store(out, v)
			return ok
		}}, nil
	case arrow.DECIMAL128:
		d := t.(*arrow.Decimal128Type)
		return &Parser{width: 16, fixed: func(b, out []byte) bool {
			v, ok := parseDecimal(b, d.Precision, d.Scale)
			store(out, v)
			return ok
		}}, nil
	case arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64, arrow.TIMESTAMP:
		return temporalParser(t), nil
	case arrow.STRING, arrow.LARGE_STRING:
		return &Parser{text: true, utf8: true, large: t.ID() == arrow.LARGE_STRING}, nil
	case arrow.BINARY, arrow.LARGE_BINARY:
		return &Parser{text: true, large: t.ID() == arrow.LARGE_BINARY}, nil
	default:
		return nil, fmt.Errorf("%w: values of type %s in CSV", device.ErrUnsupported, t)
	}
}
