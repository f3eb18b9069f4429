package gpu

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// concat is the GPU's ConcatFunc: a copy or a launch for each column's part of
// each buffer.
func (e *Engine) concat(ctx context.Context, s device.Stream, cols []*memory.Column) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	return c.give(c.concatColumns(cols)), c.err
}

func (c *call) concatColumns(cols []*memory.Column) *memory.Column {
	if !c.ok() {
		return nil
	}
	if len(cols) == 1 {
		return c.own(cols[0].Retain())
	}
	p := memory.Parts{Type: cols[0].Type(), Nulls: memory.UnknownNulls}
	for _, col := range cols {
		p.Len += col.Len()
	}
	switch layout := memory.LayoutOf(p.Type); layout {
	case memory.LayoutNull:
		p.Nulls = p.Len
	case memory.LayoutBits:
		p.Buffers = []*memory.Buffer{c.concatValidity(cols, p.Len), c.concatBits(cols, p.Len, c.bits)}
	case memory.LayoutFixed:
		p.Buffers = []*memory.Buffer{c.concatValidity(cols, p.Len), c.concatFixed(cols, p.Len)}
	case memory.LayoutDictionary:
		values, dict := c.concatDictionary(cols, p.Len)
		p.Buffers, p.Dictionary = []*memory.Buffer{c.concatValidity(cols, p.Len), values}, dict
	case memory.LayoutStruct:
		p.Buffers = []*memory.Buffer{c.concatValidity(cols, p.Len)}
		for k := range cols[0].NumChildren() {
			fields := make([]*memory.Column, len(cols))
			for i, col := range cols {
				fields[i] = c.own(col.Field(k))
			}
			p.Children = append(p.Children, c.concatColumns(fields))
		}
	case memory.LayoutBinary, memory.LayoutLargeBinary, memory.LayoutList, memory.LayoutLargeList:
		c.concatLong(&p, cols)
	default:
		c.failf(device.ErrUnsupported, "columns of type %s", p.Type)
	}
	return c.column(p)
}

// concatValidity is the validity of columns end to end, nil where none has nulls.
func (c *call) concatValidity(cols []*memory.Column, n int64) *memory.Buffer {
	for _, col := range cols {
		if c.validity(col).buffer != nil {
			return c.concatBits(cols, n, c.validity)
		}
	}
	return nil
}

// concatBits joins bitmaps; one that is not there is ones.
func (c *call) concatBits(cols []*memory.Column, n int64, of func(*memory.Column) vector) *memory.Buffer {
	out := c.result(bitBytes(n))
	c.fill(out, 0)
	at := int64(0)
	for _, col := range cols {
		if m := col.Len(); m > 0 {
			words := (at+m-1)/32 - at/32 + 1
			c.launch("concat", "concat_bits", groupsFor(words, group), of(col), out, at, m)
			at += m
		}
	}
	return out
}

func (c *call) concatFixed(cols []*memory.Column, n int64) *memory.Buffer {
	width, at := int64(memory.Width(cols[0].Type())), int64(0)
	out := c.result(width * n)
	for _, col := range cols {
		c.copy(out, width*at, col.Buffer(1), width*col.Offset(), width*col.Len())
		at += col.Len()
	}
	return out
}

// concatLong adds the buffers and the child of texts and lists. It waits for
// the stream, as the offsets say how much there is.
func (c *call) concatLong(p *memory.Parts, cols []*memory.Column) {
	width, total := offsetWidth(cols[0]), int64(0)
	ends := c.offsetEnds(cols...)
	for _, e := range ends {
		total += e[1] - e[0]
	}
	c.fits(total, width, cols[0])
	if !c.ok() {
		return
	}
	k := kindText
	if width == 8 {
		k = kindLarge
	}
	offsets := c.result(int64(width) * (p.Len + 1))
	if p.Len == 0 {
		c.fill(offsets, 0)
	}
	text := memory.LayoutOf(p.Type) == memory.LayoutBinary || memory.LayoutOf(p.Type) == memory.LayoutLargeBinary
	var out *memory.Buffer
	if text {
		out = c.result(total)
	}
	var items []*memory.Column
	at, base := int64(0), int64(0)
	for i, col := range cols {
		first, length := ends[i][0], ends[i][1]-ends[i][0]
		if col.Len() > 0 {
			c.launch("concat", "concat_offsets", c.strided(col.Len()+1), int32(k), c.values(col, width), base-first, offsets, at, col.Len())
		}
		if text {
			c.copy(out, base, col.Buffer(2), first, length)
		} else {
			window, err := col.Child(0).Slice(first, length)
			c.fail(err)
			items = append(items, c.own(window))
		}
		at, base = at+col.Len(), base+length
	}
	p.Buffers = []*memory.Buffer{c.concatValidity(cols, p.Len), offsets}
	if text {
		p.Buffers = append(p.Buffers, out)
	} else {
		p.Children = append(p.Children, c.concatColumns(items))
	}
}
