package kernels

import (
	"context"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

func referenceArithmetic(ctx context.Context, s device.Stream, op ArithmeticOp, a, b Datum, o ArithmeticOptions) (*memory.Column, error) {
	t, err := ArithmeticType(op, a.Type(), b.Type())
	if err != nil {
		return nil, err
	}
	return loop(ctx, s, t, rows(a, b), func(i int64) (Scalar, error) {
		x, y := at(a, i), at(b, i)
		if !x.valid || !y.valid {
			return Null(t), nil
		}
		if FloatTypes.Has(t.ID()) {
			return floatArithmetic(op, x, y), nil
		}
		return exactArithmetic(op, x, y, t, o)
	})
}

func floatArithmetic(op ArithmeticOp, x, y Scalar) Scalar {
	a, b := x.Float64(), y.Float64()
	var r float64
	switch op { // a float32 result of float64 operands that are float32 is rounded right: 53 >= 2*24+2 bits
	case Add:
		r = a + b
	case Subtract:
		r = a - b
	case Multiply:
		r = a * b
	case Divide:
		r = a / b
	case Modulo:
		r = math.Mod(a, b)
	}
	return Float(x.typ, r)
}

// exactArithmetic computes with unbounded integers and fits the result after.
func exactArithmetic(op ArithmeticOp, x, y Scalar, t arrow.DataType, o ArithmeticOptions) (Scalar, error) {
	var err error
	if kindOf(x.typ) == dateKind {
		if x, err = datePart(x, t, o); err != nil {
			return Scalar{}, err
		}
	}
	if kindOf(y.typ) == dateKind {
		if y, err = datePart(y, t, o); err != nil {
			return Scalar{}, err
		}
	}
	a, b := toBig(x), toBig(y)
	d, isDecimal := t.(*arrow.Decimal128Type)
	if isDecimal {
		sa, sb := x.typ.(*arrow.Decimal128Type).Scale, y.typ.(*arrow.Decimal128Type).Scale
		switch op {
		case Divide:
			a, _ = rescale(a, d.Scale-sa+sb)
		case Add, Subtract, Modulo:
			a, _ = rescale(a, d.Scale-sa)
			b, _ = rescale(b, d.Scale-sb)
		}
	}
	if (op == Divide || op == Modulo) && b.Sign() == 0 {
		return Scalar{}, badValue("%s %s 0: division by zero", x, op)
	}
	r := new(big.Int)
	switch op {
	case Add:
		r.Add(a, b)
	case Subtract:
		r.Sub(a, b)
	case Multiply:
		r.Mul(a, b)
	case Divide:
		r.Quo(a, b)
	case Modulo:
		r.Rem(a, b)
	}
	var v Scalar
	fits := false
	if isDecimal {
		v, fits = fromBig(r, d)
	} else {
		low := new(big.Int).And(r, new(big.Int).SetUint64(math.MaxUint64))
		v = Int(t, int64(low.Uint64()))
		fits = toBig(v).Cmp(r) == 0
	}
	if o.Checked && !fits {
		return Scalar{}, badValue("%s %s %s overflows %s", x, op, y, t)
	}
	return v, nil
}

// datePart is a date in the unit of the result, as a timestamp.
func datePart(d Scalar, result arrow.DataType, o ArithmeticOptions) (Scalar, error) {
	return castTemporal(d, &arrow.TimestampType{Unit: UnitOf(result)}, CastOptions{Wrap: !o.Checked})
}

func referenceUnary(ctx context.Context, s device.Stream, op UnaryOp, c *memory.Column, o ArithmeticOptions) (*memory.Column, error) {
	t, err := UnaryType(op, c.Type())
	if err != nil {
		return nil, err
	}
	return loop(ctx, s, t, c.Len(), func(i int64) (Scalar, error) {
		x := ScalarAt(c, i)
		switch {
		case !x.valid:
			return Null(t), nil
		case FloatTypes.Has(t.ID()):
			return Float(t, floatUnary(op, x.Float64())), nil
		default:
			return exactUnary(op, x, t, o)
		}
	})
}

func floatUnary(op UnaryOp, v float64) float64 {
	switch op {
	case Negate:
		return -v
	case Abs:
		return math.Abs(v)
	case Sign:
		if v > 0 {
			return 1
		} else if v < 0 {
			return -1
		}
		return v // 0, -0, NaN
	case Sqrt:
		return math.Sqrt(v)
	case Exp:
		return math.Exp(v)
	case Log:
		return math.Log(v)
	case Floor:
		return math.Floor(v)
	case Ceil:
		return math.Ceil(v)
	case Trunc:
		return math.Trunc(v)
	default:
		return math.Round(v)
	}
}

func exactUnary(op UnaryOp, x Scalar, t arrow.DataType, o ArithmeticOptions) (Scalar, error) {
	v := toBig(x)
	r := new(big.Int).Set(v)
	switch op {
	case Negate:
		r.Neg(v)
	case Abs:
		r.Abs(v)
	case Sign:
		return Int(t, int64(v.Sign())), nil
	default:
		if d, ok := t.(*arrow.Decimal128Type); ok && d.Scale > 0 {
			roundBig(op, r, powerOfTen(d.Scale))
		}
	}
	var s Scalar
	var fits bool
	if d, ok := t.(*arrow.Decimal128Type); ok {
		s, fits = fromBig(r, d)
	} else {
		low := new(big.Int).And(r, new(big.Int).SetUint64(math.MaxUint64))
		s = Int(t, int64(low.Uint64()))
		fits = toBig(s).Cmp(r) == 0
	}
	if o.Checked && !fits {
		return Scalar{}, badValue("%s of %s overflows %s", op, x, t)
	}
	return s, nil
}

// roundBig rounds v to a multiple of unit.
func roundBig(op UnaryOp, v, unit *big.Int) {
	q, rest := new(big.Int).QuoRem(v, unit, new(big.Int)) // towards zero
	sign := int64(rest.Sign())
	away := false
	switch op {
	case Floor:
		away = sign < 0
	case Ceil:
		away = sign > 0
	case Round:
		away = rest.Abs(rest).Lsh(rest, 1).Cmp(unit) >= 0
	}
	if away {
		q.Add(q, big.NewInt(sign))
	}
	v.Mul(q, unit)
}
