package gpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// compareRows is the number of rows that one group of compare.cl compares.
const compareRows = 4096

// compare is the GPU's CompareFunc.
func (e *Engine) compare(ctx context.Context, s device.Stream, op kernels.CompareOp, a, b kernels.Datum) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	n := rowsOf(a, b)
	if col, v, ok := dictionaryAndScalar(a, b); ok {
		return c.compareDictionary(op, col, v)
	}
	if col, v, ok := dictionaryAndScalar(b, a); ok {
		return c.compareDictionary(op.Swapped(), col, v)
	}
	x, y := c.operandOf(a), c.operandOf(b)
	if !c.ok() {
		return nil, c.err
	}
	t := kindOf(x.col.Type())
	if t == kindNull {
		return c.give(c.allNull(arrow.FixedWidthTypes.Boolean, n)), c.err
	}
	out := c.result(bitBytes(n))
	operands := []any{int32(t), c.data(x.col), x.step, c.data(y.col), y.step}
	if t.text() {
		args := append([]any{int32(op), int32(kindOf(y.col.Type()))}, operands...)
		c.launch("compare", "compare_texts", groupsFor(n, compareRows), append(args, c.bytes(x.col), c.bytes(y.col), out, n)...)
	} else {
		c.launch("compare", "compare_fixed", groupsFor(n, compareRows), append(append([]any{int32(op)}, operands...), out, n)...)
	}
	return c.give(c.boolColumn(out, n, x, y)), c.err
}

// dictionaryAndScalar tells whether a is a dictionary column and b a scalar.
func dictionaryAndScalar(a, b kernels.Datum) (*memory.Column, kernels.Scalar, bool) {
	col, isColumn := a.(*memory.Column)
	v, isScalar := b.(kernels.Scalar)
	return col, v, isColumn && isScalar && col.Dictionary() != nil
}

// compareDictionary compares the dictionary's values once and gives every row
// the answer of its index.
func (c *call) compareDictionary(op kernels.CompareOp, col *memory.Column, v kernels.Scalar) (*memory.Column, error) {
	answers, err := c.e.compare(c.ctx, c.s, op, col.Dictionary(), v)
	if err != nil {
		return nil, err
	}
	defer answers.Release()
	answers.Retain()
	asked, err := memory.NewColumn(memory.Parts{
		Type:    &arrow.DictionaryType{IndexType: col.Type().(*arrow.DictionaryType).IndexType, ValueType: answers.Type()},
		Len:     col.Len(),
		Offset:  col.Offset(),
		Nulls:   memory.UnknownNulls,
		Buffers: []*memory.Buffer{col.Buffer(0).Retain(), col.Buffer(1).Retain()}, Dictionary: answers,
	})
	if err != nil {
		return nil, err
	}
	defer asked.Release()
	return c.give(c.decode(asked)), c.err
}

// rowsOf is the number of rows of the first column among ds.
func rowsOf(ds ...kernels.Datum) int64 {
	for _, d := range ds {
		if col, ok := d.(*memory.Column); ok {
			return col.Len()
		}
	}
	return 0
}
