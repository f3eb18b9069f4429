package gpu

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// chooseRows is choose for text and dictionaries: the two sides are joined end
// to end, which unifies dictionaries, and the rows taken from that.
func (c *call) chooseRows(t arrow.DataType, n int64, cond, known vector, a, b kernels.Datum) *memory.Column {
	x, xStep := c.sideOf(t, a)
	y, yStep := c.sideOf(t, b)
	if !c.ok() {
		return nil
	}
	both, err := c.e.concat(c.ctx, c.s, []*memory.Column{x, y})
	if err != nil {
		c.fail(err)
		return nil
	}
	c.own(both)
	p := memory.Parts{Type: arrow.PrimitiveTypes.Uint64, Len: n, Nulls: memory.UnknownNulls, Buffers: []*memory.Buffer{nil, c.result(8 * n)}}
	c.launch("logic", "choose_rows", c.strided(n), cond, xStep, x.Len(), yStep, p.Buffers[1], n)
	if known.buffer != nil {
		p.Buffers[0] = c.copyBits(known, n)
	}
	rows := c.column(p)
	if !c.ok() {
		return nil
	}
	out, err := c.e.take(c.ctx, c.s, both, rows, kernels.TakeOptions{Trusted: true})
	c.fail(err)
	return c.own(out)
}

// sideOf is a Datum as a column of type t, with the step from row to row: 0 for
// a scalar.
func (c *call) sideOf(t arrow.DataType, d kernels.Datum) (*memory.Column, int64) {
	switch d := d.(type) {
	case kernels.Scalar:
		host, err := kernels.FromScalars(memory.Heap, t, []kernels.Scalar{d})
		if err != nil {
			c.fail(err)
			return nil, 0
		}
		defer host.Release()
		return c.toDevice(host), 0
	case *memory.Column:
		if dict, ok := t.(*arrow.DictionaryType); ok && d.Dictionary() == nil {
			return c.encode(dict, d), 1
		}
		return d, 1
	}
	return nil, 0
}

// encode is a plain column as a dictionary column: its distinct values in order
// of first appearance, without the null.
func (c *call) encode(t *arrow.DictionaryType, col *memory.Column) *memory.Column {
	if !c.ok() {
		return nil
	}
	bits, err := col.WithType(encodeType(col.Type()))
	if err != nil {
		c.fail(err)
		return nil
	}
	defer bits.Release()
	g, err := c.e.group(c.ctx, c.s, []*memory.Column{bits}, kernels.GroupOptions{DropNullKeys: true})
	if err != nil {
		c.fail(err)
		return nil
	}
	defer g.Release()
	if width := 8*uint(memory.Width(t)) - uint(kernels.SignedTypes>>uint(t.IndexType.ID())&1); width < 63 && g.N > 1<<width {
		c.failf(device.ErrValue, "%d distinct values in a dictionary with indices of %s: cast to a wider index type", g.N, t.IndexType)
		return nil
	}
	values, err := c.e.take(c.ctx, c.s, col, g.First, kernels.TakeOptions{Trusted: true})
	if err != nil {
		c.fail(err)
		return nil
	}
	c.own(values)
	indices, err := c.e.cast(c.ctx, c.s, g.IDs, t.IndexType, kernels.CastOptions{Wrap: true})
	if err != nil {
		c.fail(err)
		return nil
	}
	defer indices.Release()
	out, err := memory.NewColumn(memory.Parts{
		Type: t, Len: col.Len(), Offset: indices.Offset(), Nulls: memory.UnknownNulls, Dictionary: values.Retain(),
		Buffers: []*memory.Buffer{indices.Buffer(0).Retain(), indices.Buffer(1).Retain()},
	})
	c.fail(err)
	return c.own(out)
}

// encodeType is the type whose equal values are those of one dictionary entry:
// floats are distinct by their bits, so that both zeros keep theirs.
func encodeType(t arrow.DataType) arrow.DataType {
	switch t.ID() {
	case arrow.FLOAT32:
		return arrow.PrimitiveTypes.Uint32
	case arrow.FLOAT64:
		return arrow.PrimitiveTypes.Uint64
	}
	return t
}
