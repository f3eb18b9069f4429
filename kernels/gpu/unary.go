package gpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// unary is the GPU's UnaryFunc.
func (e *Engine) unary(ctx context.Context, s device.Stream, op kernels.UnaryOp, col *memory.Column, o kernels.ArithmeticOptions) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	t, err := kernels.UnaryType(op, col.Type())
	if err != nil {
		return nil, err
	}
	n, k := col.Len(), kindOf(col.Type())
	float := k == kindF32 || k == kindF64
	if op >= kernels.Floor && !float && k != kindWide {
		return col.Slice(0, n) // integers are whole
	}
	lookFor := uint32(0)
	if o.Checked && !float && op != kernels.Sign {
		lookFor = badOverflow
	}
	found := c.finding(lookFor)
	out := c.result(int64(memory.Width(t)) * n)
	x := c.data(col)
	switch {
	case k == kindWide && op == kernels.Sign:
		c.launch("unarydecimal", "unary_decimal_sign", c.strided(n), x, out, n)
	case k == kindWide:
		d := t.(*arrow.Decimal128Type)
		args := []any{int32(op), x, c.validity(col), d.Scale, d.Precision, out, n}
		c.launch("unarydecimal", "unary_decimal", c.strided(n), append(args, found.args()...)...)
	default:
		module, groups := "unary."+variants[k], groupsFor(n, elementTile)
		switch {
		case op >= kernels.Sqrt && op <= kernels.Log:
			c.launch(module, "unary_real", groups, int32(op), x, out, n)
			found.word = nil // what they do not have is a NaN
		case op == kernels.Sign && !float:
			c.launch(module, "unary_sign", groups, x, out, n)
		case lookFor != 0:
			c.launch(module, "unary_checked", groups, int32(op), x, out, n, c.validity(col), found.word)
		default:
			c.launch(module, "unary", groups, int32(op), x, out, n)
		}
	}
	c.check(found, n, func(row int64) error {
		return badValue("%s of %s overflows %s", op, c.scalarAt(col, row), t)
	})
	return c.give(c.fixedColumn(t, out, n, col)), c.err
}
