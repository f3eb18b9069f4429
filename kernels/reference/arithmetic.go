package reference

import (
	"context"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func arithmetic(ctx context.Context, s device.Stream, op kernels.ArithmeticOp, a, b kernels.Datum, o kernels.ArithmeticOptions) (*memory.Column, error) {
	t, err := kernels.ArithmeticType(op, a.Type(), b.Type())
	if err != nil {
		return nil, err
	}
	return kernels.BuildColumn(ctx, s, t, rows(a, b), func(i int64) (kernels.Scalar, error) {
		x, y := at(a, i), at(b, i)
		if !x.Valid() || !y.Valid() {
			return kernels.Null(t), nil
		}
		if kernels.FloatTypes.Has(t.ID()) {
			return floatArithmetic(op, x, y), nil
		}
		return exactArithmetic(op, x, y, t, o)
	})
}

func floatArithmetic(op kernels.ArithmeticOp, x, y kernels.Scalar) kernels.Scalar {
	a, b := x.Float64(), y.Float64()
	var r float64
	switch op { // a float32 result of float64 operands that are float32 is rounded right: 53 >= 2*24+2 bits
	case kernels.Add:
		r = a + b
	case kernels.Subtract:
		r = a - b
	case kernels.Multiply:
		r = a * b
	case kernels.Divide:
		r = a / b
	case kernels.Modulo:
		r = math.Mod(a, b)
	}
	return kernels.Float(x.Type(), r)
}

// exactArithmetic computes with unbounded integers and fits the result after.
func exactArithmetic(op kernels.ArithmeticOp, x, y kernels.Scalar, t arrow.DataType, o kernels.ArithmeticOptions) (kernels.Scalar, error) {
	var err error
	if isDate(x.Type()) {
		if x, err = datePart(x, t, o); err != nil {
			return kernels.Scalar{}, err
		}
	}
	if isDate(y.Type()) {
		if y, err = datePart(y, t, o); err != nil {
			return kernels.Scalar{}, err
		}
	}
	a, b := x.Big(), y.Big()
	d, isDecimal := t.(*arrow.Decimal128Type)
	if isDecimal {
		sa, sb := x.Type().(*arrow.Decimal128Type).Scale, y.Type().(*arrow.Decimal128Type).Scale
		switch op {
		case kernels.Divide:
			a, _ = kernels.Rescale(a, d.Scale-sa+sb)
		case kernels.Add, kernels.Subtract, kernels.Modulo:
			a, _ = kernels.Rescale(a, d.Scale-sa)
			b, _ = kernels.Rescale(b, d.Scale-sb)
		}
	}
	if (op == kernels.Divide || op == kernels.Modulo) && b.Sign() == 0 {
		return kernels.Scalar{}, wrongValue("%s %s 0: division by zero", x, op)
	}
	r := new(big.Int)
	switch op {
	case kernels.Add:
		r.Add(a, b)
	case kernels.Subtract:
		r.Sub(a, b)
	case kernels.Multiply:
		r.Mul(a, b)
	case kernels.Divide:
		r.Quo(a, b)
	case kernels.Modulo:
		r.Rem(a, b)
	}
	var v kernels.Scalar
	fits := false
	if isDecimal {
		v, fits = kernels.FromBig(r, d)
	} else {
		low := new(big.Int).And(r, new(big.Int).SetUint64(math.MaxUint64))
		v = kernels.Int(t, int64(low.Uint64()))
		fits = v.Big().Cmp(r) == 0
	}
	if o.Checked && !fits {
		return kernels.Scalar{}, wrongValue("%s %s %s overflows %s", x, op, y, t)
	}
	return v, nil
}

func isDate(t arrow.DataType) bool { return t.ID() == arrow.DATE32 || t.ID() == arrow.DATE64 }

// datePart is a date in the unit of the result, as a timestamp.
func datePart(d kernels.Scalar, result arrow.DataType, o kernels.ArithmeticOptions) (kernels.Scalar, error) {
	return kernels.CastScalar(d, &arrow.TimestampType{Unit: kernels.UnitOf(result)}, kernels.CastOptions{Wrap: !o.Checked})
}

func unary(ctx context.Context, s device.Stream, op kernels.UnaryOp, c *memory.Column, o kernels.ArithmeticOptions) (*memory.Column, error) {
	t, err := kernels.UnaryType(op, c.Type())
	if err != nil {
		return nil, err
	}
	return kernels.BuildColumn(ctx, s, t, c.Len(), func(i int64) (kernels.Scalar, error) {
		x := kernels.ScalarAt(c, i)
		switch {
		case !x.Valid():
			return kernels.Null(t), nil
		case kernels.FloatTypes.Has(t.ID()):
			return kernels.Float(t, floatUnary(op, x.Float64())), nil
		default:
			return exactUnary(op, x, t, o)
		}
	})
}

func floatUnary(op kernels.UnaryOp, v float64) float64 {
	switch op {
	case kernels.Negate:
		return -v
	case kernels.Abs:
		return math.Abs(v)
	case kernels.Sign:
		if v > 0 {
			return 1
		} else if v < 0 {
			return -1
		}
		return v // 0, -0, NaN
	case kernels.Sqrt:
		return math.Sqrt(v)
	case kernels.Exp:
		return math.Exp(v)
	case kernels.Log:
		return math.Log(v)
	case kernels.Floor:
		return math.Floor(v)
	case kernels.Ceil:
		return math.Ceil(v)
	case kernels.Trunc:
		return math.Trunc(v)
	default:
		return math.Round(v)
	}
}

func exactUnary(op kernels.UnaryOp, x kernels.Scalar, t arrow.DataType, o kernels.ArithmeticOptions) (kernels.Scalar, error) {
	v := x.Big()
	r := new(big.Int).Set(v)
	switch op {
	case kernels.Negate:
		r.Neg(v)
	case kernels.Abs:
		r.Abs(v)
	case kernels.Sign:
		return kernels.Int(t, int64(v.Sign())), nil
	default:
		if d, ok := t.(*arrow.Decimal128Type); ok && d.Scale > 0 {
			roundBig(op, r, new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(d.Scale)), nil))
		}
	}
	var s kernels.Scalar
	var fits bool
	if d, ok := t.(*arrow.Decimal128Type); ok {
		s, fits = kernels.FromBig(r, d)
	} else {
		low := new(big.Int).And(r, new(big.Int).SetUint64(math.MaxUint64))
		s = kernels.Int(t, int64(low.Uint64()))
		fits = s.Big().Cmp(r) == 0
	}
	if o.Checked && !fits {
		return kernels.Scalar{}, wrongValue("%s of %s overflows %s", op, x, t)
	}
	return s, nil
}

// roundBig rounds v to a multiple of unit.
func roundBig(op kernels.UnaryOp, v, unit *big.Int) {
	q, rest := new(big.Int).QuoRem(v, unit, new(big.Int)) // towards zero
	sign := int64(rest.Sign())
	away := false
	switch op {
	case kernels.Floor:
		away = sign < 0
	case kernels.Ceil:
		away = sign > 0
	case kernels.Round:
		away = rest.Abs(rest).Lsh(rest, 1).Cmp(unit) >= 0
	}
	if away {
		q.Add(q, big.NewInt(sign))
	}
	v.Mul(q, unit)
}
