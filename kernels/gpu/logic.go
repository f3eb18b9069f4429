package gpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// truth is a bool operand as OPERAND of logic.cl declares it: values, validity,
// and the words that stand for them where there is no bitmap.
func (c *call) truth(d kernels.Datum) []any {
	if v, ok := d.(kernels.Scalar); ok {
		return []any{vector{}, vector{}, allOnes(v.Valid() && v.Bool()), allOnes(v.Valid())}
	}
	col := d.(*memory.Column)
	return []any{c.bits(col), c.validity(col), uint32(0), allOnes(true)}
}

func allOnes(yes bool) uint32 {
	if yes {
		return ^uint32(0)
	}
	return 0
}

// mayBeNull reports whether a Datum can be null in some row.
func mayBeNull(ds ...kernels.Datum) bool {
	for _, d := range ds {
		switch d := d.(type) {
		case kernels.Scalar:
			if !d.Valid() {
				return true
			}
		case *memory.Column:
			if d.MayHaveNulls() {
				return true
			}
		}
	}
	return false
}

// logic is the GPU's LogicFunc.
func (e *Engine) logic(ctx context.Context, s device.Stream, op kernels.LogicOp, a, b kernels.Datum) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	n := rowsOf(a, b)
	out := c.result(bitBytes(n))
	var valid *memory.Buffer
	validArg := null()
	if mayBeNull(a, b) {
		valid = c.result(bitBytes(n))
		validArg = valid
	}
	args := append([]any{int32(op)}, c.truth(a)...)
	args = append(append(args, c.truth(b)...), out, validArg, n)
	c.launch("logic", "logic", groupsFor(n, 32*group), args...)
	return c.give(c.column(memory.Parts{
		Type: arrow.FixedWidthTypes.Boolean, Len: n, Nulls: memory.UnknownNulls, Buffers: []*memory.Buffer{valid, out},
	})), c.err
}

// not is the GPU's NotFunc.
func (e *Engine) not(ctx context.Context, s device.Stream, col *memory.Column) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	n := col.Len()
	out := c.result(bitBytes(n))
	c.launch("logic", "invert", groupsFor(n, 32*group), c.bits(col), out, n)
	return c.give(c.boolColumn(out, n, operand{col: col, step: 1})), c.err
}
