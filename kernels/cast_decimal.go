package kernels

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// powerOfTen is 10^n, n >= 0.
func powerOfTen(n int32) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// FromBig is the decimal of type t with the unscaled value v. What is past the
// precision is an overflow, or wraps at 128 bits; the second result says which.
func FromBig(v *big.Int, t *arrow.Decimal128Type) (s Scalar, fits bool) {
	fits = v.CmpAbs(powerOfTen(t.Precision)) < 0
	low := new(big.Int).And(v, new(big.Int).SetUint64(math.MaxUint64))
	high := new(big.Int).Rsh(v, 64) // rounds down, as two's complement does
	high.And(high, new(big.Int).SetUint64(math.MaxUint64))
	return Decimal(t, decimal128.New(int64(high.Uint64()), low.Uint64())), fits
}

// Rescale multiplies by 10^digits, or divides and cuts off; exact says that
// nothing was cut.
func Rescale(v *big.Int, digits int32) (r *big.Int, exact bool) {
	if digits >= 0 {
		return new(big.Int).Mul(v, powerOfTen(digits)), true
	}
	r, rest := new(big.Int).QuoRem(v, powerOfTen(-digits), new(big.Int))
	return r, rest.Sign() == 0
}

func castDecimal(v Scalar, to arrow.DataType, o CastOptions) (Scalar, error) {
	into, isDecimal := to.(*arrow.Decimal128Type)
	from, wasDecimal := v.typ.(*arrow.Decimal128Type)
	switch {
	case kindOf(v.typ) == floatKind:
		return floatToDecimal(v, into, o)
	case wasDecimal && kindOf(to) == floatKind:
		r := new(big.Rat).SetInt(v.Big())
		if from.Scale >= 0 {
			r.Quo(r, new(big.Rat).SetInt(powerOfTen(from.Scale)))
		} else {
			r.Mul(r, new(big.Rat).SetInt(powerOfTen(-from.Scale)))
		}
		f, _ := r.Float64()
		if to.ID() == arrow.FLOAT32 {
			g, _ := r.Float32()
			f = float64(g)
		}
		r64 := Float(to, f)
		if math.IsInf(f, 0) && !o.Wrap {
			return Scalar{}, overflow(v, to)
		}
		return r64, nil
	case to.ID() == arrow.BOOL:
		return Bool(v.bits != 0 || v.high != 0), nil
	}
	var scale int32
	if wasDecimal {
		scale = from.Scale
	}
	var target int32
	if isDecimal {
		target = into.Scale
	}
	n, exact := Rescale(v.Big(), target-scale)
	if !exact && !o.Wrap {
		return Scalar{}, badValue("%s of %s loses digits as %s", v, v.typ, to)
	}
	if isDecimal {
		r, fits := FromBig(n, into)
		if !fits && !o.Wrap {
			return Scalar{}, overflow(v, to)
		}
		return r, nil
	}
	low := new(big.Int).And(n, new(big.Int).SetUint64(math.MaxUint64)).Uint64()
	r := Int(to, int64(low))
	if !o.Wrap && r.Big().Cmp(n) != 0 {
		return Scalar{}, overflow(v, to)
	}
	return r, nil
}

func floatToDecimal(v Scalar, to *arrow.Decimal128Type, o CastOptions) (Scalar, error) {
	f := v.Float64()
	greatest := new(big.Int).Sub(powerOfTen(to.Precision), big.NewInt(1))
	n := new(big.Int)
	switch {
	case f != f || math.IsInf(f, 0):
		if !o.Wrap {
			return Scalar{}, overflow(v, to)
		}
		if math.IsInf(f, 0) {
			n.Set(greatest)
		}
	default:
		r := new(big.Rat).SetFloat64(math.Abs(f))
		if to.Scale >= 0 {
			r.Mul(r, new(big.Rat).SetInt(powerOfTen(to.Scale)))
		} else {
			r.Quo(r, new(big.Rat).SetInt(powerOfTen(-to.Scale)))
		}
		var rest *big.Int
		n, rest = n.QuoRem(r.Num(), r.Denom(), new(big.Int))
		half := rest.Lsh(rest, 1).Cmp(r.Denom())
		if half > 0 || half == 0 && n.Bit(0) == 1 {
			n.Add(n, big.NewInt(1))
		}
	}
	if n.Cmp(greatest) > 0 {
		if !o.Wrap {
			return Scalar{}, overflow(v, to)
		}
		n.Set(greatest)
	}
	if math.Signbit(f) {
		n.Neg(n)
	}
	s, _ := FromBig(n, to)
	return s, nil
}
