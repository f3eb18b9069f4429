package gpu

import (
	"fmt"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// gather is the rows of a column of any type by n row numbers of 4 or 8 bytes
// in device memory. Numbers are not checked: where nullable, all ones, and
// whatever else is past the column's end, gives a null row, and otherwise there
// must be none. The call owns the column. Text and lists wait for the stream,
// whose result tells how much memory they need.
func (c *call) gather(col *memory.Column, numbers *memory.Buffer, width int, n int64, nullable bool) *memory.Column {
	return c.gatherRows(col, rows{vector: vector{numbers, 0}, width: width, n: n, nullable: nullable})
}

func (c *call) gatherRows(col *memory.Column, r rows) *memory.Column {
	if !c.ok() {
		return nil
	}
	p := memory.Parts{Type: col.Type(), Len: r.n, Nulls: memory.UnknownNulls}
	switch layout := memory.LayoutOf(p.Type); layout {
	case memory.LayoutNull:
		p.Nulls = r.n
	case memory.LayoutBits:
		p.Buffers = []*memory.Buffer{c.gatherValidity(col, r), c.gatherBits(c.bits(col), col, r)}
	case memory.LayoutFixed, memory.LayoutDictionary:
		p.Dictionary = c.own(col.Dictionary().Retain())
		p.Buffers = c.gatherFixed(col, r)
	case memory.LayoutStruct:
		p.Buffers = []*memory.Buffer{c.gatherValidity(col, r)}
		for k := range col.NumChildren() {
			p.Children = append(p.Children, c.gatherRows(c.own(col.Field(k)), r))
		}
	case memory.LayoutBinary, memory.LayoutLargeBinary, memory.LayoutList, memory.LayoutLargeList:
		c.gatherLong(&p, col, r)
	default:
		c.failf(device.ErrUnsupported, "columns of type %s", p.Type)
	}
	return c.column(p)
}

// gatherFixed is validity and values of fixed-width values, or of indices.
func (c *call) gatherFixed(col *memory.Column, r rows) []*memory.Buffer {
	width := memory.Width(col.Type())
	out := []*memory.Buffer{nil, c.result(int64(width) * r.n)}
	valid := c.validity(col)
	if valid.buffer != nil || r.nullable {
		out[0] = c.result(bitBytes(r.n))
	}
	c.launch("gather."+widthVariant(width), "gather"+fmt.Sprint(8*r.width), groupsFor(r.n, 1024),
		c.values(col, width), r.vector, valid, out[1], pointer(out[0]), r.n, col.Len(), pointer(r.bad))
	return out
}

// gatherValidity is the validity of rows of a column, nil where none is null.
func (c *call) gatherValidity(col *memory.Column, r rows) *memory.Buffer {
	valid := c.validity(col)
	if valid.buffer == nil && !r.nullable {
		return nil
	}
	return c.gatherBits(valid, col, r)
}

// gatherBits are bits of a column's rows, 0 for null rows.
func (c *call) gatherBits(bits vector, col *memory.Column, r rows) *memory.Buffer {
	out := c.result(bitBytes(r.n))
	c.launch(rowsModule("rows", r.width), "rows_bits", groupsFor(r.n, selectTile), bits, r.vector, out, r.n, col.Len(), pointer(r.bad))
	return out
}

// widthVariant is the variant of a module for values of a width in bytes.
func widthVariant(width int) string {
	if width == 16 {
		return "wide"
	}
	return fmt.Sprint("u", 8*width)
}
