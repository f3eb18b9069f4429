package gpu

import (
	"fmt"
	"math"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// Bytes of text and items of lists that one group of gatherlong.cl makes.
const (
	gatherChunk      = 8192
	gatherItemsChunk = 2048
)

// gatherLong adds the buffers and the child of texts and lists.
func (c *call) gatherLong(p *memory.Parts, col *memory.Column, r rows) {
	layout := memory.LayoutOf(col.Type())
	module, from := longModule(col, r), c.values(col, offsetWidth(col))
	ends, total := c.gatherOffsets(col, r)
	p.Buffers = []*memory.Buffer{c.gatherValidity(col, r), ends}
	if !c.ok() {
		return
	}
	text := layout == memory.LayoutBinary || layout == memory.LayoutLargeBinary
	chunk := int64(gatherItemsChunk)
	if text {
		chunk = gatherChunk
	}
	chunks := groupsFor(total, chunk)
	starts := c.temp(8 * chunks)
	c.launch(module, "gather_starts", groupsFor(chunks, group), ends, r.n, chunk, starts, chunks)
	if text {
		out := c.result(total)
		c.launch(module, "gather_bytes", chunks, from, c.bytes(col), r.vector, ends, starts, out, r.n, total)
		c.drop(starts)
		p.Buffers = append(p.Buffers, out)
		return
	}
	child := col.Child(0)
	items := c.gatherItems(col, r, ends, starts, total, rowWidth(child.Len()))
	c.drop(starts)
	p.Children = append(p.Children, c.gatherRows(child, items))
	c.drop(items.buffer)
}

// gatherItems is the rows of the child that the items of rows of lists are,
// as numbers of width bytes.
func (c *call) gatherItems(col *memory.Column, r rows, ends, starts *memory.Buffer, total int64, width int) rows {
	items := rows{width: width, n: total}
	items.buffer = c.temp(int64(width) * total)
	c.launch(longModule(col, r), fmt.Sprint("gather_items", 8*width), groupsFor(total, gatherItemsChunk),
		c.values(col, offsetWidth(col)), r.vector, ends, starts, items.buffer, r.n, total)
	return items
}

// longModule is the module for row numbers and the offsets of a column.
func longModule(col *memory.Column, r rows) string {
	return fmt.Sprintf("gatherlong.u%d_i%d", 8*r.width, 8*offsetWidth(col))
}

// gatherOffsets is the offsets of rows of texts or lists, and their last, for
// which it waits for the stream.
func (c *call) gatherOffsets(col *memory.Column, r rows) (*memory.Buffer, int64) {
	width := offsetWidth(col)
	out := c.result(int64(width) * (r.n + 1))
	if r.n == 0 {
		c.fill(out, 0)
		return out, 0
	}
	tiles := groupsFor(r.n, prefixTile)
	state, ticket, sum := c.zeroed(8*tiles), c.zeroed(4), c.temp(8)
	c.launch(longModule(col, r), "gather_offsets", tiles, c.values(col, width), c.validity(col), r.vector, out, sum, r.n, col.Len(), state, ticket)
	total := c.readInt64(sum, 0)
	for _, b := range []*memory.Buffer{state, ticket, sum} {
		c.drop(b)
	}
	c.fits(total, width, col)
	return out, total
}

// fits checks that n bytes or items can be counted by offsets of a width.
func (c *call) fits(n int64, width int, col *memory.Column) {
	if width == 4 && n > math.MaxInt32 {
		c.failf(device.ErrValue, "a result of %d bytes or items is too long for the 32-bit offsets of %s: cast to the large type (large_utf8, large_binary, large_list)", n, col.Type())
	}
}
