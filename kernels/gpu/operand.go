package gpu

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// operand is a Datum on the device: a column, or a scalar as a column of one
// row that stands for all rows (step 0).
type operand struct {
	col  *memory.Column
	step int32
	null bool // a scalar that is null
}

// operandOf brings a scalar to the device; a dictionary is decoded.
func (c *call) operandOf(d kernels.Datum) operand {
	if v, ok := d.(kernels.Scalar); ok {
		return operand{col: c.scalarColumn(v.As(plainType(v.Type()))), null: !v.Valid()}
	}
	return operand{col: c.decode(d.(*memory.Column)), step: 1}
}

// scalarColumn is a column of one row on the device; of a null it holds a zero.
func (c *call) scalarColumn(v kernels.Scalar) *memory.Column {
	host, err := kernels.FromScalars(memory.Heap, v.Type(), []kernels.Scalar{v})
	if err != nil {
		c.fail(err)
		return nil
	}
	defer host.Release()
	return c.toDevice(host)
}

// toDevice copies a column of the host, without children, to the device.
func (c *call) toDevice(host *memory.Column) *memory.Column {
	p := memory.Parts{Type: host.Type(), Len: host.Len(), Offset: host.Offset(), Nulls: host.NullCount()}
	if memory.LayoutOf(p.Type) == memory.LayoutNull {
		return c.column(p)
	}
	for i := range 3 {
		b := host.Buffer(i)
		if b == nil {
			if i == 0 {
				p.Buffers = append(p.Buffers, nil)
			}
			continue
		}
		d := c.result(b.Len())
		c.write(d, 0, b.Bytes())
		p.Buffers = append(p.Buffers, d)
	}
	if host.Dictionary() != nil {
		p.Dictionary = c.toDevice(host.Dictionary())
	}
	return c.column(p)
}

// toHost copies a column of the device, without children, to the host and waits
// for it; the caller releases it.
func (c *call) toHost(col *memory.Column) *memory.Column {
	p := memory.Parts{Type: col.Type(), Len: col.Len(), Offset: col.Offset(), Nulls: memory.UnknownNulls}
	for i := range 3 {
		b := col.Buffer(i)
		if b == nil {
			if i == 0 && memory.LayoutOf(p.Type) != memory.LayoutNull {
				p.Buffers = append(p.Buffers, nil)
			}
			continue
		}
		p.Buffers = append(p.Buffers, memory.Wrap(c.read(b, 0, b.Len()), nil))
	}
	if d := col.Dictionary(); d != nil && c.ok() {
		p.Dictionary = c.toHost(d)
	}
	if !c.ok() {
		p.Dictionary.Release()
		return nil
	}
	host, err := memory.NewColumn(p)
	c.fail(err)
	return host
}

// decode is the values of a dictionary column as a plain column; any other
// column is itself.
func (c *call) decode(col *memory.Column) *memory.Column {
	d, ok := col.Type().(*arrow.DictionaryType)
	if !ok || !c.ok() {
		return col
	}
	indices, err := memory.NewColumn(memory.Parts{
		Type: d.IndexType, Len: col.Len(), Offset: col.Offset(), Nulls: memory.UnknownNulls,
		Buffers: []*memory.Buffer{col.Buffer(0).Retain(), col.Buffer(1).Retain()},
	})
	if err != nil {
		c.fail(err)
		return col
	}
	defer indices.Release()
	out, err := c.e.take(c.ctx, c.s, col.Dictionary(), indices, kernels.TakeOptions{Trusted: true})
	if err != nil {
		c.fail(err)
		return col
	}
	return c.own(out)
}

// boolColumn is a bool column of a call's values, null where any of the
// operands is: all null where a scalar among them is.
func (c *call) boolColumn(values *memory.Buffer, n int64, operands ...operand) *memory.Column {
	var cols []*memory.Column
	for _, o := range operands {
		if o.null {
			return c.allNull(arrow.FixedWidthTypes.Boolean, n)
		}
		if o.step == 1 {
			cols = append(cols, o.col)
		}
	}
	return c.column(memory.Parts{
		Type: arrow.FixedWidthTypes.Boolean, Len: n, Nulls: memory.UnknownNulls,
		Buffers: []*memory.Buffer{c.mergeValidity(n, cols...), values},
	})
}

// allNull is a column of n nulls of a type without children.
func (c *call) allNull(t arrow.DataType, n int64) *memory.Column {
	p := memory.Parts{Type: t, Len: n, Nulls: n}
	zeros := func(bytes int64) {
		b := c.result(bytes)
		c.fill(b, 0)
		p.Buffers = append(p.Buffers, b)
	}
	layout := memory.LayoutOf(t)
	if layout != memory.LayoutNull {
		zeros(bitBytes(n))
	}
	switch layout {
	case memory.LayoutNull:
	case memory.LayoutBits:
		zeros(bitBytes(n))
	case memory.LayoutBinary:
		zeros(4 * (n + 1))
		zeros(0)
	case memory.LayoutLargeBinary:
		zeros(8 * (n + 1))
		zeros(0)
	case memory.LayoutDictionary:
		zeros(int64(memory.Width(t)) * n)
		p.Dictionary = c.allNull(plainType(t), 0)
	default:
		zeros(int64(memory.Width(t)) * n)
	}
	return c.column(p)
}
