package kernels

import (
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// overflow is the error of a value that a type cannot hold.
func overflow(v Scalar, to arrow.DataType) error {
	return badValue("%s of %s is out of range of %s", v, v.typ, to)
}

// castNumber converts between bools, integers, floats and, by their integers,
// temporal values.
func castNumber(v Scalar, to arrow.DataType, o CastOptions) (Scalar, error) {
	from, into := kindOf(v.typ), kindOf(to)
	switch {
	case into == boolKind && from == floatKind:
		return Bool(v.Float64() != 0), nil
	case into == boolKind:
		return Bool(v.bits != 0), nil
	case from == floatKind && into == floatKind:
		f := v.Float64()
		r := Float(to, f)
		if !o.Wrap && math.IsInf(r.Float64(), 0) && !math.IsInf(f, 0) {
			return Scalar{}, overflow(v, to)
		}
		return r, nil
	case from == floatKind:
		return floatToInt(v, to, o)
	case into == floatKind:
		return intToFloat(v, to, o)
	default:
		r := Int(to, int64(v.bits))
		if !o.Wrap && !(fromInt(v, r)) {
			return Scalar{}, overflow(v, to)
		}
		return r, nil
	}
}

// fromInt reports whether r, which is v cut to its type, is still the same number.
func fromInt(v, r Scalar) bool {
	negative := func(s Scalar) bool { return !UnsignedTypes.Has(s.typ.ID()) && int64(s.bits) < 0 }
	return v.bits == r.bits && negative(v) == negative(r)
}

// intRange is the least integer of t and the first power of two above its
// greatest, both exact as floats.
func intRange(t arrow.DataType) (least, above float64) {
	bits := float64(8 * memory.Width(t))
	if UnsignedTypes.Has(t.ID()) {
		return 0, math.Exp2(bits)
	}
	return -math.Exp2(bits - 1), math.Exp2(bits - 1)
}

func floatToInt(v Scalar, to arrow.DataType, o CastOptions) (Scalar, error) {
	f := v.Float64()
	whole := math.Trunc(f)
	least, above := intRange(to)
	unsigned := UnsignedTypes.Has(to.ID())
	switch {
	case !o.Wrap && !(whole >= least && whole < above):
		return Scalar{}, overflow(v, to)
	case !o.Wrap && whole != f:
		return Scalar{}, badValue("%s of %s has a fraction, %s has none", v, v.typ, to)
	case f != f:
		return Int(to, 0), nil
	case whole < least:
		if unsigned {
			return Int(to, 0), nil
		}
		return Int(to, math.MinInt64>>(64-8*memory.Width(to))), nil
	case whole >= above:
		if unsigned {
			return Int(to, -1), nil
		}
		return Int(to, math.MaxInt64>>(64-8*memory.Width(to))), nil
	case unsigned:
		return Int(to, int64(uint64(whole))), nil
	default:
		return Int(to, int64(whole)), nil
	}
}

func intToFloat(v Scalar, to arrow.DataType, o CastOptions) (Scalar, error) {
	unsigned := UnsignedTypes.Has(v.typ.ID())
	var f float64 // rounded once, to the target
	switch {
	case to.ID() == arrow.FLOAT32 && unsigned:
		f = float64(float32(v.bits))
	case to.ID() == arrow.FLOAT32:
		f = float64(float32(int64(v.bits)))
	case unsigned:
		f = float64(v.bits)
	default:
		f = float64(int64(v.bits))
	}
	if !o.Wrap {
		exact := f < 1<<63 && int64(f) == int64(v.bits)
		if unsigned {
			exact = f < 1<<64 && uint64(f) == v.bits
		}
		if !exact {
			return Scalar{}, badValue("%s of %s is not exact as %s", v, v.typ, to)
		}
	}
	return Float(to, f), nil
}

// castBytes relabels text and bytes.
func castBytes(v Scalar, to arrow.DataType) (Scalar, error) {
	if kindOf(v.typ) == bytesKind && kindOf(to) == textKind && !utf8.ValidString(v.text) {
		return Scalar{}, badValue("%s is not UTF-8", v)
	}
	return Text(to, v.text), nil
}
