package gpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// arithmetic is the GPU's ArithmeticFunc.
func (e *Engine) arithmetic(ctx context.Context, s device.Stream, op kernels.ArithmeticOp, a, b kernels.Datum, o kernels.ArithmeticOptions) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	t, err := kernels.ArithmeticType(op, a.Type(), b.Type())
	if err != nil {
		return nil, err
	}
	n := rowsOf(a, b)
	if isNullScalar(a) || isNullScalar(b) {
		return c.give(c.allNull(t, n)), c.err
	}
	out := c.result(int64(memory.Width(t)) * n)
	found := c.finding(arithmeticErrors(op, b, t, o))
	scaled := arithmeticScaled(a.Type()) || arithmeticScaled(b.Type())
	switch k := kindOf(t); {
	case k == kindWide:
		up := arithmeticDigits(op, a.Type(), b.Type(), t)
		args := append([]any{int32(op)}, append(c.side(a, 2), up[0])...)
		args = append(append(args, c.side(b, 2)...), up[1], t.(*arrow.Decimal128Type).Precision, out, n)
		c.launch("arithmeticwide", "arithmetic_decimal", c.strided(n), append(args, found.args()...)...)
	case scaled:
		args := append([]any{int32(op), int32(kindOf(a.Type()))}, append(c.side(a, 2), arithmeticFactor(a.Type(), t))...)
		args = append(append(args, int32(kindOf(b.Type()))), append(c.side(b, 2), arithmeticFactor(b.Type(), t))...)
		args = append(append(args, out, n), found.args()...)
		c.launch("arithmeticwide", "arithmetic_temporal", c.strided(n), args...)
	default:
		args := append(append([]any{int32(op)}, c.side(a, 1)...), append(c.side(b, 1), out, n)...)
		entry := "arithmetic"
		switch {
		case op >= kernels.Divide:
			entry = "division"
			if kernels.FloatTypes.Has(t.ID()) {
				break
			}
			args = append(args, found.args()...)
		case found.word != nil:
			entry = "arithmetic_checked"
			args = append(args, found.word)
		}
		c.launch("arithmetic."+variants[k], entry, groupsFor(n, elementTile), args...)
	}
	c.check(found, n, func(row int64) error {
		return arithmeticError(op, c.scalarAt(a, row), c.scalarAt(b, row), t, o)
	})
	var cols []*memory.Column
	for _, d := range []kernels.Datum{a, b} {
		if col, ok := d.(*memory.Column); ok {
			cols = append(cols, col)
		}
	}
	return c.give(c.fixedColumn(t, out, n, cols...)), c.err
}

// side is an operand as SIDE of arithmetic.cl declares it: values, the words of
// a scalar, validity.
func (c *call) side(d kernels.Datum, words int) []any {
	if v, ok := d.(kernels.Scalar); ok {
		args := []any{vector{}, v.Uint64()}
		if words == 2 {
			args = append(args, uint64(v.Decimal().HighBits()))
		}
		return append(args, vector{})
	}
	col := d.(*memory.Column)
	args := []any{c.data(col), uint64(0)}
	if words == 2 {
		args = append(args, uint64(0))
	}
	return append(args, c.validity(col))
}

// arithmeticErrors is what there is to look for. A scalar divisor may leave
// nothing, which saves the wait for the answer.
func arithmeticErrors(op kernels.ArithmeticOp, b kernels.Datum, t arrow.DataType, o kernels.ArithmeticOptions) (lookFor uint32) {
	if kernels.FloatTypes.Has(t.ID()) {
		return 0
	}
	if o.Checked {
		lookFor = badOverflow
	}
	if op < kernels.Divide {
		return lookFor
	}
	v, isScalar := b.(kernels.Scalar)
	if !isScalar {
		return lookFor | badZero
	}
	if t.ID() == arrow.DECIMAL128 {
		if v.Decimal().Sign() == 0 {
			lookFor |= badZero
		}
		return lookFor
	}
	switch {
	case v.Uint64() == 0:
		return lookFor | badZero
	case v.Int64() != -1:
		return 0 // nothing else has a quotient that does not fit
	default:
		return lookFor
	}
}

// arithmeticScaled tells the types that are not added as the 64-bit numbers that
// they are stored as.
func arithmeticScaled(t arrow.DataType) bool {
	return kernels.TypesOf(arrow.DATE32, arrow.DATE64, arrow.TIME32).Has(t.ID())
}

// arithmeticFactor makes a date a number of the result's units.
func arithmeticFactor(t, result arrow.DataType) int64 {
	if t.ID() == arrow.DATE32 || t.ID() == arrow.DATE64 {
		return 86400 * kernels.PerSecond(kernels.UnitOf(result)) / perDay(t)
	}
	return 1
}

// arithmeticDigits is by how many digits the scale of each operand grows first.
func arithmeticDigits(op kernels.ArithmeticOp, a, b, t arrow.DataType) [2]int32 {
	sa, sb, scale := a.(*arrow.Decimal128Type).Scale, b.(*arrow.Decimal128Type).Scale, t.(*arrow.Decimal128Type).Scale
	switch op {
	case kernels.Divide:
		return [2]int32{scale - sa + sb}
	case kernels.Multiply:
		return [2]int32{}
	default:
		return [2]int32{scale - sa, scale - sb}
	}
}

// arithmeticError is what is wrong with x op y.
func arithmeticError(op kernels.ArithmeticOp, x, y kernels.Scalar, t arrow.DataType, o kernels.ArithmeticOptions) error {
	for _, v := range []*kernels.Scalar{&x, &y} {
		if id := v.Type().ID(); id != arrow.DATE32 && id != arrow.DATE64 {
			continue
		}
		scaled, err := kernels.CastScalar(*v, &arrow.TimestampType{Unit: kernels.UnitOf(t)}, kernels.CastOptions{Wrap: !o.Checked})
		if err != nil {
			return err
		}
		*v = scaled
	}
	if op >= kernels.Divide && y.Uint64() == 0 && y.Decimal().HighBits() == 0 {
		return badValue("%s %s 0: division by zero", x, op)
	}
	return badValue("%s %s %s overflows %s", x, op, y, t)
}
