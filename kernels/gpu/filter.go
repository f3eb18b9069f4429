package gpu

import (
	"context"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// filter is the GPU's FilterFunc. It counts first, over the mask alone, which
// is a 64th of the bytes of 8-byte values: then the result has its exact size
// and each tile knows where its rows go.
func (e *Engine) filter(ctx context.Context, s device.Stream, col, mask *memory.Column, o kernels.FilterOptions) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	k := c.keep(c.bits(mask), c.validity(mask), o.EmitNull, mask.Len())
	return c.give(c.filterColumn(col, &filterRows{kept: k})), c.err
}

// filterRows is what is kept, with its row numbers once a column needs them.
type filterRows struct {
	kept
	rows *memory.Buffer
}

// numbers are the row numbers of what is kept.
func (k *filterRows) numbers(c *call) rows {
	r := rows{width: rowWidth(k.n), n: k.count, nullable: k.emit != 0}
	if k.rows == nil {
		k.rows = c.keptRows(k.kept, r.width)
	}
	r.vector = vector{k.rows, 0}
	return r
}

func (c *call) filterColumn(col *memory.Column, k *filterRows) *memory.Column {
	if !c.ok() {
		return nil
	}
	p := memory.Parts{Type: col.Type(), Len: k.count, Nulls: memory.UnknownNulls}
	switch layout := memory.LayoutOf(p.Type); layout {
	case memory.LayoutNull:
		p.Nulls = k.count
	case memory.LayoutBits:
		p.Buffers = []*memory.Buffer{c.filterValidity(col, k), c.filterBits(c.bits(col), k)}
	case memory.LayoutFixed, memory.LayoutDictionary:
		width := memory.Width(p.Type)
		out := c.result(int64(width) * k.count)
		c.filterLaunch(widthVariant(width), k, c.values(col, width), out)
		p.Dictionary = c.own(col.Dictionary().Retain())
		p.Buffers = []*memory.Buffer{c.filterValidity(col, k), out}
	case memory.LayoutStruct:
		p.Buffers = []*memory.Buffer{c.filterValidity(col, k)}
		for i := range col.NumChildren() {
			p.Children = append(p.Children, c.filterColumn(c.own(col.Field(i)), k))
		}
	case memory.LayoutBinary, memory.LayoutLargeBinary:
		return c.gatherRows(col, k.numbers(c))
	case memory.LayoutList, memory.LayoutLargeList:
		r := k.numbers(c)
		offsets, total := c.gatherOffsets(col, r)
		p.Buffers = []*memory.Buffer{c.filterValidity(col, k), offsets}
		p.Children = []*memory.Column{c.filterItems(col, k, total)}
	default:
		c.failf(device.ErrUnsupported, "columns of type %s", p.Type)
	}
	return c.column(p)
}

// filterValidity is the validity of the rows kept, nil where none is null.
func (c *call) filterValidity(col *memory.Column, k *filterRows) *memory.Buffer {
	valid := c.validity(col)
	if valid.buffer == nil && k.emit == 0 {
		return nil
	}
	return c.filterBits(valid, k)
}

func (c *call) filterBits(from vector, k *filterRows) *memory.Buffer {
	out := c.result(bitBytes(k.count))
	c.fill(out, 0)
	c.filterLaunch("bits", k, from, out)
	return out
}

func (c *call) filterLaunch(variant string, k *filterRows, from vector, out *memory.Buffer) {
	if k.count > 0 {
		c.launch("filter."+variant, "filter", groupsFor(k.n, selectTile), k.mask, k.known, k.emit, k.starts, from, out, k.n)
	}
}
