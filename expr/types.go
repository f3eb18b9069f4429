package expr

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// integerRange is the least value of an integer type, and the greatest.
func integerRange(t arrow.DataType) (int64, uint64) {
	bits := uint(t.(arrow.FixedWidthDataType).BitWidth())
	if kernels.UnsignedTypes.Has(t.ID()) {
		return 0, math.MaxUint64 >> (64 - bits)
	}
	return math.MinInt64 >> (64 - bits), math.MaxUint64 >> (65 - bits)
}

// adapt gives a literal the type t where that changes nothing of its value. A
// float with a whole value becomes an integer only where comparing: else 1.0
// would turn a division of integers into a whole one.
func adapt(v kernels.Scalar, t arrow.DataType, comparing bool) (kernels.Scalar, bool) {
	from, to := v.Type().ID(), t.ID()
	if !v.Valid() {
		return kernels.Null(t), from == arrow.NULL || arrow.TypeEqual(v.Type(), t)
	}
	if arrow.TypeEqual(v.Type(), t) {
		return v, true
	}
	switch {
	case from == arrow.STRING && (kernels.TemporalTypes | kernels.DecimalTypes | kernels.BinaryTypes).Has(to):
		if _, err := strconv.ParseInt(v.Text(), 10, 64); err == nil && kernels.TemporalTypes.Has(to) {
			return v, false // a bare number is no date
		}
		out, err := parseValue(t, v.Text())
		return out, err == nil
	case kernels.IntegerTypes.Has(to) && kernels.IntegerTypes.Has(from):
		low, high := integerRange(t)
		if kernels.SignedTypes.Has(from) && v.Int64() < 0 {
			return kernels.Int(t, v.Int64()), v.Int64() >= low
		}
		return kernels.Int(t, v.Int64()), v.Uint64() <= high
	case kernels.IntegerTypes.Has(to) && kernels.FloatTypes.Has(from):
		return floatToInt(v.Float64(), t, comparing)
	case kernels.FloatTypes.Has(to) && kernels.NumberTypes.Has(from):
		return toFloat(v, t)
	case to == arrow.DECIMAL128 && (kernels.NumberTypes | kernels.DecimalTypes).Has(from):
		return asDecimalOf(v, t.(*arrow.Decimal128Type))
	case comparing && kernels.IntegerTypes.Has(to) && from == arrow.DECIMAL128:
		n, exact := floorAt(v.Decimal().BigInt(), v.Type().(*arrow.Decimal128Type).Scale, 0)
		low, high := integerRange(t)
		fits := exact && n.Cmp(big.NewInt(low)) >= 0 && n.Cmp(new(big.Int).SetUint64(high)) <= 0
		return kernels.Int(t, int64(new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64())), fits
	case comparing && kernels.FloatTypes.Has(to) && from == arrow.DECIMAL128:
		return kernels.Float(t, v.Decimal().ToFloat64(v.Type().(*arrow.Decimal128Type).Scale)), true
	case to == arrow.TIMESTAMP || to == arrow.DATE64 || to == arrow.DURATION:
		return rescale(v, t)
	}
	return kernels.Scalar{}, false
}

func floatToInt(f float64, t arrow.DataType, comparing bool) (kernels.Scalar, bool) {
	low, high := integerRange(t)
	if !comparing || f != math.Trunc(f) || f < float64(low) || f >= float64(high)+1 {
		return kernels.Scalar{}, false
	}
	if f >= 1<<63 {
		return kernels.Int(t, int64(uint64(f))), true
	}
	return kernels.Int(t, int64(f)), true
}

func toFloat(v kernels.Scalar, t arrow.DataType) (kernels.Scalar, bool) {
	f := v.Float64()
	out := kernels.Float(t, f)
	if kernels.IntegerTypes.Has(v.Type().ID()) {
		exact := math.Abs(f) <= 1<<53
		return out, exact && out.Float64() == f
	}
	return out, out.Float64() == f || f != f
}

// rescale gives a temporal literal another unit, a date as a timestamp.
func rescale(v kernels.Scalar, t arrow.DataType) (kernels.Scalar, bool) {
	from, zoneFrom, ok1 := nanosPerUnit(v.Type())
	to, zoneTo, ok2 := nanosPerUnit(t)
	sameKind := (v.Type().ID() == arrow.DURATION) == (t.ID() == arrow.DURATION)
	if !ok1 || !ok2 || !sameKind || zoneFrom != zoneTo {
		return kernels.Scalar{}, false
	}
	if from >= to {
		scale := from / to
		if x := v.Int64() * scale; x/scale == v.Int64() {
			return kernels.Int(t, x), true
		}
		return kernels.Scalar{}, false
	}
	return kernels.Int(t, v.Int64()/(to/from)), v.Int64()%(to/from) == 0
}

// nanosPerUnit is the length of a unit of a date, timestamp or duration, and
// whether it has a zone.
func nanosPerUnit(t arrow.DataType) (int64, bool, bool) {
	switch t := t.(type) {
	case *arrow.Date32Type:
		return 86400e9, false, true
	case *arrow.Date64Type:
		return 1e6, false, true
	case *arrow.TimestampType:
		return int64(t.Unit.Multiplier()), t.TimeZone != "", true
	case *arrow.DurationType:
		return int64(t.Unit.Multiplier()), false, true
	}
	return 0, false, false
}

// commonType is the narrowest type that holds the values of both.
func commonType(a, b arrow.DataType) (arrow.DataType, error) {
	ida, idb := a.ID(), b.ID()
	number := kernels.NumberTypes
	switch {
	case arrow.TypeEqual(a, b), idb == arrow.NULL:
		return a, nil
	case ida == arrow.NULL:
		return b, nil
	case ida == arrow.DICTIONARY:
		return commonType(a.(*arrow.DictionaryType).ValueType, b)
	case idb == arrow.DICTIONARY:
		return commonType(a, b.(*arrow.DictionaryType).ValueType)
	case number.Has(ida) && number.Has(idb):
		return commonNumber(a, b), nil
	case ida == arrow.DECIMAL128 && number.Has(idb), idb == arrow.DECIMAL128 && number.Has(ida), ida == arrow.DECIMAL128 && idb == arrow.DECIMAL128:
		return commonDecimal(a, b), nil
	case strings.HasSuffix(a.Name(), "utf8") && strings.HasSuffix(b.Name(), "utf8"):
		return arrow.BinaryTypes.LargeString, nil
	case strings.HasSuffix(a.Name(), "binary") && strings.HasSuffix(b.Name(), "binary"):
		return arrow.BinaryTypes.LargeBinary, nil
	}
	return commonTime(a, b)
}

func commonNumber(a, b arrow.DataType) arrow.DataType {
	wa, wb := a.(arrow.FixedWidthDataType).BitWidth(), b.(arrow.FixedWidthDataType).BitWidth()
	fa, fb := kernels.FloatTypes.Has(a.ID()), kernels.FloatTypes.Has(b.ID())
	if fa || fb {
		small := func(f bool, w int) bool { return f && w == 32 || !f && w <= 16 }
		if small(fa, wa) && small(fb, wb) {
			return arrow.PrimitiveTypes.Float32
		}
		return arrow.PrimitiveTypes.Float64
	}
	sa, sb := kernels.SignedTypes.Has(a.ID()), kernels.SignedTypes.Has(b.ID())
	if sa == sb {
		if wa >= wb {
			return a
		}
		return b
	}
	signed, unsigned := wa, wb
	if sb {
		signed, unsigned = wb, wa
	}
	switch max(signed, min(2*unsigned, 64)) {
	case 16:
		return arrow.PrimitiveTypes.Int16
	case 32:
		return arrow.PrimitiveTypes.Int32
	default:
		return arrow.PrimitiveTypes.Int64
	}
}

// asDecimal is an integer type as the decimal that holds it.
func asDecimal(t arrow.DataType) (*arrow.Decimal128Type, bool) {
	if d, ok := t.(*arrow.Decimal128Type); ok {
		return d, true
	}
	if !kernels.IntegerTypes.Has(t.ID()) {
		return nil, false
	}
	_, high := integerRange(t)
	return &arrow.Decimal128Type{Precision: int32(len(fmt.Sprint(high)))}, true
}

func commonDecimal(a, b arrow.DataType) arrow.DataType {
	x, ok1 := asDecimal(a)
	y, ok2 := asDecimal(b)
	if !ok1 || !ok2 {
		return arrow.PrimitiveTypes.Float64
	}
	scale := max(x.Scale, y.Scale)
	whole := max(x.Precision-x.Scale, y.Precision-y.Scale)
	return &arrow.Decimal128Type{Precision: min(whole+scale, 38), Scale: scale}
}

// decimals makes both sides decimals, or both float64, where one is a decimal
// and the other a number.
func (b *binder) decimals(x, y int) (int, int) {
	tx, ty := b.typ(x), b.typ(y)
	if (tx.ID() == arrow.DECIMAL128) == (ty.ID() == arrow.DECIMAL128) {
		return x, y
	}
	dx, ok1 := asDecimal(tx)
	dy, ok2 := asDecimal(ty)
	if ok1 && ok2 {
		return b.cast(x, dx), b.cast(y, dy)
	}
	if kernels.FloatTypes.Has(tx.ID()) || kernels.FloatTypes.Has(ty.ID()) {
		return b.widen(x, arrow.PrimitiveTypes.Float64), b.widen(y, arrow.PrimitiveTypes.Float64)
	}
	return x, y
}

// wholeType is the type that holds uint64 beside signed integers, for which no
// integer type does; ok only for such a pair.
func wholeType(a, b arrow.DataType) (t arrow.DataType, ok bool) {
	if b.ID() == arrow.UINT64 {
		a, b = b, a
	}
	if a.ID() != arrow.UINT64 || !kernels.SignedTypes.Has(b.ID()) {
		return nil, false
	}
	return &arrow.Decimal128Type{Precision: 20}, true
}

// valueType is the type of the values: of a dictionary that of its dictionary.
func valueType(t arrow.DataType) arrow.DataType {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return d.ValueType
	}
	return t
}

// KeyType is the type in which keys of two types are matched by a join: equal
// types as they are, integers of two widths in the wider, texts of two kinds of
// offsets in the larger, a dictionary as its values, times of one kind in the
// finer unit, uint64 and signed integers as decimals of 20 digits. ok is false where values of the two are never the same thing.
func KeyType(a, b arrow.DataType) (t arrow.DataType, ok bool) {
	if arrow.TypeEqual(a, b) {
		return a, kernels.KeyTypes.Has(a.ID())
	}
	if t, ok := wholeType(valueType(a), valueType(b)); ok {
		return t, true
	}
	t, err := commonType(a, b)
	if err != nil || !kernels.KeyTypes.Has(t.ID()) {
		return nil, false
	}
	whole := func(t arrow.DataType) bool { return kernels.IntegerTypes.Has(t.ID()) }
	if kernels.FloatTypes.Has(t.ID()) && (whole(a) || whole(b)) {
		return nil, false
	}
	return t, true
}
