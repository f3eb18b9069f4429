package reference

import (
	"context"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

func compare(ctx context.Context, s device.Stream, op kernels.CompareOp, a, b kernels.Datum) (*memory.Column, error) {
	return kernels.BuildColumn(ctx, s, arrow.FixedWidthTypes.Boolean, rows(a, b), func(i int64) (kernels.Scalar, error) {
		x, y := at(a, i), at(b, i)
		if !x.Valid() || !y.Valid() {
			return kernels.Null(arrow.FixedWidthTypes.Boolean), nil
		}
		c := kernels.CompareKeys(x, y)
		if isNaN(x) || isNaN(y) {
			return kernels.Bool(op == kernels.NotEqual), nil
		}
		return kernels.Bool([...]bool{c == 0, c != 0, c < 0, c <= 0, c > 0, c >= 0}[op]), nil
	})
}

func isNaN(v kernels.Scalar) bool {
	return v.Valid() && kernels.FloatTypes.Has(v.Type().ID()) && math.IsNaN(v.Float64())
}

func logic(ctx context.Context, s device.Stream, op kernels.LogicOp, a, b kernels.Datum) (*memory.Column, error) {
	return kernels.BuildColumn(ctx, s, arrow.FixedWidthTypes.Boolean, rows(a, b), func(i int64) (kernels.Scalar, error) {
		x, y := at(a, i), at(b, i)
		switch op {
		case kernels.AndNot:
			return kleeneAnd(x, kleeneNot(y)), nil
		case kernels.Or:
			return kleeneNot(kleeneAnd(kleeneNot(x), kleeneNot(y))), nil
		case kernels.And:
			return kleeneAnd(x, y), nil
		default:
			if !x.Valid() || !y.Valid() {
				return kernels.Null(arrow.FixedWidthTypes.Boolean), nil
			}
			return kernels.Bool(x.Bool() != y.Bool()), nil
		}
	})
}

func kleeneNot(v kernels.Scalar) kernels.Scalar {
	if !v.Valid() {
		return v
	}
	return kernels.Bool(!v.Bool())
}

func kleeneAnd(a, b kernels.Scalar) kernels.Scalar {
	switch {
	case a.Valid() && !a.Bool() || b.Valid() && !b.Bool():
		return kernels.Bool(false)
	case !a.Valid() || !b.Valid():
		return kernels.Null(arrow.FixedWidthTypes.Boolean)
	default:
		return kernels.Bool(true)
	}
}

func not(ctx context.Context, s device.Stream, c *memory.Column) (*memory.Column, error) {
	return kernels.BuildColumn(ctx, s, c.Type(), c.Len(), func(i int64) (kernels.Scalar, error) { return kleeneNot(kernels.ScalarAt(c, i)), nil })
}

func isNull(ctx context.Context, s device.Stream, q kernels.NullTest, c *memory.Column) (*memory.Column, error) {
	return kernels.BuildColumn(ctx, s, arrow.FixedWidthTypes.Boolean, c.Len(), func(i int64) (kernels.Scalar, error) {
		v := kernels.ScalarAt(c, i)
		return kernels.Bool([...]bool{!v.Valid(), v.Valid(), isNaN(v)}[q]), nil
	})
}

func fillNull(ctx context.Context, s device.Stream, c *memory.Column, fill kernels.Datum) (*memory.Column, error) {
	return kernels.BuildColumn(ctx, s, c.Type(), c.Len(), func(i int64) (kernels.Scalar, error) {
		if v := kernels.ScalarAt(c, i); v.Valid() {
			return v, nil
		}
		return at(fill, i), nil
	})
}

func ifElse(ctx context.Context, s device.Stream, cond *memory.Column, a, b kernels.Datum) (*memory.Column, error) {
	t, err := kernels.MixType(a.Type(), b.Type())
	if err != nil {
		return nil, err
	}
	return kernels.BuildColumn(ctx, s, t, cond.Len(), func(i int64) (kernels.Scalar, error) {
		switch c := kernels.ScalarAt(cond, i); {
		case !c.Valid():
			return kernels.Null(t), nil
		case c.Bool():
			return at(a, i), nil
		default:
			return at(b, i), nil
		}
	})
}

func cast(ctx context.Context, s device.Stream, c *memory.Column, to arrow.DataType, o kernels.CastOptions) (*memory.Column, error) {
	return kernels.BuildColumn(ctx, s, to, c.Len(), func(i int64) (kernels.Scalar, error) {
		return kernels.CastScalar(kernels.ScalarAt(c, i), to, o)
	})
}
