package gpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// ifElse is the GPU's IfElseFunc.
func (e *Engine) ifElse(ctx context.Context, s device.Stream, cond *memory.Column, a, b kernels.Datum) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	t, err := kernels.MixType(a.Type(), b.Type())
	if err != nil {
		return nil, err
	}
	out := c.choose(t, cond.Len(), c.bits(cond), c.validity(cond), a, b)
	return c.give(out), c.err
}

// fillNull is the GPU's FillNullFunc: where the column is valid its own value,
// else that of fill.
func (e *Engine) fillNull(ctx context.Context, s device.Stream, col *memory.Column, fill kernels.Datum) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	if col.Type().ID() == arrow.NULL || !col.MayHaveNulls() && (col.Dictionary() == nil || !col.Dictionary().MayHaveNulls()) {
		return col.Retain(), nil
	}
	n := col.Len()
	cond := c.validity(col)
	if col.Dictionary() != nil { // the dictionary's own nulls are nulls too
		valid := c.temp(bitBytes(n))
		args := append([]any{int32(kernels.IsValidTest)}, c.readable(col)...)
		c.launch("isnull", "is_null", groupsFor(n, 4096), append(args, valid, n)...)
		cond = vector{valid, 0}
	}
	out := c.choose(col.Type(), n, cond, vector{}, col, fill)
	return c.give(out), c.err
}

// choose is a column of n rows of type t: a where the bit of cond is one, b
// where it is zero, null where known has a zero. The call owns it.
func (c *call) choose(t arrow.DataType, n int64, cond, known vector, a, b kernels.Datum) *memory.Column {
	switch layout := memory.LayoutOf(t); {
	case n == 0 || layout == memory.LayoutNull:
		return c.allNull(t, n)
	case layout == memory.LayoutDictionary || kernels.BinaryTypes.Has(t.ID()):
		return c.chooseRows(t, n, cond, known, a, b)
	default:
		return c.chooseFixed(t, n, cond, known, a, b)
	}
}

func (c *call) chooseFixed(t arrow.DataType, n int64, cond, known vector, a, b kernels.Datum) *memory.Column {
	p := memory.Parts{Type: t, Len: n, Nulls: memory.UnknownNulls, Buffers: make([]*memory.Buffer, 2)}
	bits := t.ID() == arrow.BOOL
	args := []any{cond, known}
	for _, d := range []kernels.Datum{a, b} {
		if bits {
			args = append(args, c.truth(d)...)
			continue
		}
		valid := vector{}
		if col, ok := d.(*memory.Column); ok {
			valid = c.validity(col)
		}
		args = append(args, vector{}, valid, uint32(0), allOnes(!isNullScalar(d)))
	}
	out := null()
	if bits {
		p.Buffers[1] = c.result(bitBytes(n))
		out = p.Buffers[1]
	}
	if known.buffer != nil || mayBeNull(a, b) || bits {
		p.Buffers[0] = c.result(bitBytes(n))
		c.launch("logic", "choose_bits", groupsFor(n, 32*group), append(args, out, p.Buffers[0], n)...)
	}
	if !bits {
		width := memory.Width(t)
		p.Buffers[1] = c.result(int64(width) * n)
		module, lanes := map[int]string{1: "ifelse.u8", 2: "ifelse.u16", 4: "ifelse.u32", 8: "ifelse.u64", 16: "ifelse.u64"}[width], max(1, width/8)
		x, y := c.operandOf(a), c.operandOf(b)
		if !c.ok() {
			return nil
		}
		c.launch(module, "if_else", c.strided(n*int64(lanes)), cond, c.data(x.col), x.step, c.data(y.col), y.step, p.Buffers[1], n, int32(lanes))
	}
	return c.column(p)
}

func isNullScalar(d kernels.Datum) bool {
	v, ok := d.(kernels.Scalar)
	return ok && !v.Valid()
}
