package kernels

import (
	"fmt"
	"math"
	"math/big"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// Scalar is one value of an Arrow type, or a null of it. It stands for a column
// of that value where a kernel takes a Datum, and it is what the reference
// loops work on.
type Scalar struct {
	typ   arrow.DataType
	valid bool
	bits  uint64   // integers sign-extended, floats as their IEEE bits, bools 0 or 1, the low half of a decimal
	high  int64    // the high half of a decimal
	text  string   // strings and bytes
	items []Scalar // list items or struct fields
}

// Null is the null of a type.
func Null(t arrow.DataType) Scalar { return Scalar{typ: t} }

// Bool is a bool scalar.
func Bool(v bool) Scalar {
	s := Scalar{typ: arrow.FixedWidthTypes.Boolean, valid: true}
	if v {
		s.bits = 1
	}
	return s
}

// Int64 is an int64 scalar.
func Int64(v int64) Scalar { return Int(arrow.PrimitiveTypes.Int64, v) }

// Float64 is a float64 scalar.
func Float64(v float64) Scalar { return Float(arrow.PrimitiveTypes.Float64, v) }

// String is a utf8 scalar.
func String(v string) Scalar { return Text(arrow.BinaryTypes.String, v) }

// Int is a scalar of an integer, temporal or duration type, cut to the type's
// width as a Go conversion cuts it.
func Int(t arrow.DataType, v int64) Scalar {
	switch t.ID() {
	case arrow.INT8:
		v = int64(int8(v))
	case arrow.INT16:
		v = int64(int16(v))
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		v = int64(int32(v))
	case arrow.UINT8:
		v = int64(uint8(v))
	case arrow.UINT16:
		v = int64(uint16(v))
	case arrow.UINT32:
		v = int64(uint32(v))
	}
	return Scalar{typ: t, valid: true, bits: uint64(v)}
}

// Float is a scalar of a float type, rounded to it.
func Float(t arrow.DataType, v float64) Scalar {
	if t.ID() == arrow.FLOAT32 {
		return Scalar{typ: t, valid: true, bits: uint64(math.Float32bits(float32(v)))}
	}
	return Scalar{typ: t, valid: true, bits: math.Float64bits(v)}
}

// Text is a scalar of a string or binary type.
func Text(t arrow.DataType, v string) Scalar { return Scalar{typ: t, valid: true, text: v} }

// Decimal is a decimal128 scalar: v is the unscaled value.
func Decimal(t arrow.DataType, v decimal128.Num) Scalar {
	return Scalar{typ: t, valid: true, bits: v.LowBits(), high: v.HighBits()}
}

// Nested is a list or struct scalar of its items or fields.
func Nested(t arrow.DataType, items []Scalar) Scalar {
	return Scalar{typ: t, valid: true, items: items}
}

// Type is the scalar's Arrow type.
func (s Scalar) Type() arrow.DataType { return s.typ }

// Valid is false for a null.
func (s Scalar) Valid() bool { return s.valid }

// Int64 is the value of an integer, temporal or bool scalar. A uint64 past the
// range comes out negative.
func (s Scalar) Int64() int64 { return int64(s.bits) }

// Uint64 is the value of an unsigned integer scalar.
func (s Scalar) Uint64() uint64 { return s.bits }

// Bool is the value of a bool scalar.
func (s Scalar) Bool() bool { return s.bits != 0 }

// Float64 is the value of a float scalar, or of an integer one converted.
func (s Scalar) Float64() float64 {
	switch id := s.typ.ID(); {
	case id == arrow.FLOAT32:
		return float64(math.Float32frombits(uint32(s.bits)))
	case id == arrow.FLOAT64:
		return math.Float64frombits(s.bits)
	case UnsignedTypes.Has(id):
		return float64(s.bits)
	default:
		return float64(int64(s.bits))
	}
}

// Text is the value of a string or binary scalar.
func (s Scalar) Text() string { return s.text }

// Decimal is the unscaled value of a decimal128 scalar.
func (s Scalar) Decimal() decimal128.Num { return decimal128.New(s.high, s.bits) }

// Big is the unscaled value of a decimal scalar or the value of an integer one.
func (s Scalar) Big() *big.Int {
	switch {
	case s.typ.ID() == arrow.DECIMAL128:
		return s.Decimal().BigInt()
	case UnsignedTypes.Has(s.typ.ID()):
		return new(big.Int).SetUint64(s.bits)
	default:
		return big.NewInt(int64(s.bits))
	}
}

// Items are the items of a list scalar or the fields of a struct scalar.
func (s Scalar) Items() []Scalar { return s.items }

// As is the same value under another type of the same kind of storage: an
// int64 as a timestamp, utf8 as large_utf8. It does not convert.
func (s Scalar) As(t arrow.DataType) Scalar {
	s.typ = t
	return s
}

// String shows the value as SQL would, strings in quotes.
func (s Scalar) String() string {
	if s.typ == nil {
		return "<no value>"
	}
	if !s.valid {
		return "null"
	}
	switch id := s.typ.ID(); {
	case id == arrow.BOOL:
		return strconv.FormatBool(s.Bool())
	case BinaryTypes.Has(id):
		return strconv.Quote(s.text)
	case FloatTypes.Has(id):
		return strconv.FormatFloat(s.Float64(), 'g', -1, 64)
	case UnsignedTypes.Has(id):
		return strconv.FormatUint(s.bits, 10)
	case id == arrow.DECIMAL128:
		return s.Decimal().ToString(s.typ.(*arrow.Decimal128Type).Scale)
	case id == arrow.DATE32:
		return arrow.Date32(s.Int64()).FormattedString()
	case id == arrow.DATE64:
		return arrow.Date64(s.Int64()).FormattedString()
	case id == arrow.TIMESTAMP:
		t := s.typ.(*arrow.TimestampType)
		layout := "2006-01-02 15:04:05.999999999"
		if t.TimeZone != "" {
			layout += "Z07:00"
		}
		if to, err := t.GetToTimeFunc(); err == nil {
			return to(arrow.Timestamp(s.Int64())).Format(layout)
		}
		return strconv.FormatInt(s.Int64(), 10)
	case id == arrow.TIME32:
		return arrow.Time32(s.Int64()).FormattedString(s.typ.(*arrow.Time32Type).Unit)
	case id == arrow.TIME64:
		return arrow.Time64(s.Int64()).FormattedString(s.typ.(*arrow.Time64Type).Unit)
	case id == arrow.DURATION:
		return strconv.FormatInt(s.Int64(), 10) + s.typ.(*arrow.DurationType).Unit.String()
	case NestedTypes.Has(id):
		return fmt.Sprint(s.items)
	default:
		return strconv.FormatInt(s.Int64(), 10)
	}
}
