package kernels

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

func referenceCompare(ctx context.Context, s device.Stream, op CompareOp, a, b Datum) (*memory.Column, error) {
	return loop(ctx, s, arrow.FixedWidthTypes.Boolean, rows(a, b), func(i int64) (Scalar, error) {
		x, y := at(a, i), at(b, i)
		if !x.valid || !y.valid {
			return Null(arrow.FixedWidthTypes.Boolean), nil
		}
		c := CompareKeys(x, y)
		if isNaN(x) || isNaN(y) {
			return Bool(op == NotEqual), nil
		}
		return Bool([...]bool{c == 0, c != 0, c < 0, c <= 0, c > 0, c >= 0}[op]), nil
	})
}

func isNaN(v Scalar) bool {
	return v.valid && FloatTypes.Has(v.typ.ID()) && math.IsNaN(v.Float64())
}

func referenceLogic(ctx context.Context, s device.Stream, op LogicOp, a, b Datum) (*memory.Column, error) {
	return loop(ctx, s, arrow.FixedWidthTypes.Boolean, rows(a, b), func(i int64) (Scalar, error) {
		x, y := at(a, i), at(b, i)
		switch op {
		case AndNot:
			return kleeneAnd(x, kleeneNot(y)), nil
		case Or:
			return kleeneNot(kleeneAnd(kleeneNot(x), kleeneNot(y))), nil
		case And:
			return kleeneAnd(x, y), nil
		default:
			if !x.valid || !y.valid {
				return Null(arrow.FixedWidthTypes.Boolean), nil
			}
			return Bool(x.Bool() != y.Bool()), nil
		}
	})
}

func kleeneNot(v Scalar) Scalar {
	if !v.valid {
		return v
	}
	return Bool(!v.Bool())
}

func kleeneAnd(a, b Scalar) Scalar {
	switch {
	case a.valid && !a.Bool() || b.valid && !b.Bool():
		return Bool(false)
	case !a.valid || !b.valid:
		return Null(arrow.FixedWidthTypes.Boolean)
	default:
		return Bool(true)
	}
}

func referenceNot(ctx context.Context, s device.Stream, c *memory.Column) (*memory.Column, error) {
	return loop(ctx, s, c.Type(), c.Len(), func(i int64) (Scalar, error) { return kleeneNot(ScalarAt(c, i)), nil })
}

func referenceIsNull(ctx context.Context, s device.Stream, q NullTest, c *memory.Column) (*memory.Column, error) {
	return loop(ctx, s, arrow.FixedWidthTypes.Boolean, c.Len(), func(i int64) (Scalar, error) {
		v := ScalarAt(c, i)
		return Bool([...]bool{!v.valid, v.valid, isNaN(v)}[q]), nil
	})
}

func referenceFillNull(ctx context.Context, s device.Stream, c *memory.Column, fill Datum) (*memory.Column, error) {
	return loop(ctx, s, c.Type(), c.Len(), func(i int64) (Scalar, error) {
		if v := ScalarAt(c, i); v.valid {
			return v, nil
		}
		return at(fill, i), nil
	})
}

func referenceIfElse(ctx context.Context, s device.Stream, cond *memory.Column, a, b Datum) (*memory.Column, error) {
	t, err := MixType(a.Type(), b.Type())
	if err != nil {
		return nil, err
	}
	return loop(ctx, s, t, cond.Len(), func(i int64) (Scalar, error) {
		switch c := ScalarAt(cond, i); {
		case !c.valid:
			return Null(t), nil
		case c.Bool():
			return at(a, i), nil
		default:
			return at(b, i), nil
		}
	})
}

func referenceCast(ctx context.Context, s device.Stream, c *memory.Column, to arrow.DataType, o CastOptions) (*memory.Column, error) {
	return loop(ctx, s, to, c.Len(), func(i int64) (Scalar, error) {
		return CastScalar(ScalarAt(c, i), to, o)
	})
}
