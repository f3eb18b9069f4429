package gpu

import (
	"encoding/binary"
	"fmt"

	"github.com/volley-go/volley/memory"
)

// filterItemsChunk is the items whose bits one group of filteritems.cl makes.
const filterItemsChunk = 32 * group

// filterItems is the items of the lists that are kept, count of them: the mask
// of the lists becomes one of their items, so that these are read once and in
// order, and need no row numbers.
func (c *call) filterItems(col *memory.Column, k *filterRows, count int64) *memory.Column {
	width := offsetWidth(col)
	ends := c.offsetEnds(col)
	if !c.ok() {
		return nil
	}
	begin, total := ends[0][0], ends[0][1]-ends[0][0]
	module, offsets := fmt.Sprint("filteritems.i", 8*width), c.values(col, width)
	chunks := groupsFor(total, filterItemsChunk)
	starts, mask := c.temp(8*chunks), c.temp(bitBytes(total))
	c.launch(module, "filter_item_starts", groupsFor(chunks, group), offsets, k.n, begin, starts, chunks)
	c.launch(module, "filter_items", chunks, k.mask, k.known, c.validity(col), offsets, k.n, begin, total, starts, mask)
	c.drop(starts)
	window, err := col.Child(0).Slice(begin, total)
	if err != nil {
		c.fail(err)
		return nil
	}
	items := kept{mask: vector{mask, 0}, n: total, count: count}
	c.keepStarts(&items)
	out := c.filterColumn(c.own(window), &filterRows{kept: items})
	c.drop(items.starts)
	c.drop(mask)
	return out
}

// offsetWidth is the bytes of an offset of a column of texts or lists.
func offsetWidth(col *memory.Column) int {
	if layout := memory.LayoutOf(col.Type()); layout == memory.LayoutLargeBinary || layout == memory.LayoutLargeList {
		return 8
	}
	return 4
}

// offsetEnds is, for each of some columns of texts or lists, its window's first
// and last offset. It waits for the stream.
func (c *call) offsetEnds(cols ...*memory.Column) [][2]int64 {
	all := c.zeroed(16 * int64(len(cols)))
	for i, col := range cols {
		if col.Len() == 0 {
			continue // Arrow allows an empty offsets buffer for no values
		}
		width := int64(offsetWidth(col))
		c.copy(all, int64(16*i), col.Buffer(1), width*col.Offset(), width)
		c.copy(all, int64(16*i+8), col.Buffer(1), width*(col.Offset()+col.Len()), width)
	}
	content := c.read(all, 0, 16*int64(len(cols)))
	c.drop(all)
	ends := make([][2]int64, len(cols))
	for i := range ends {
		for j := range ends[i] {
			ends[i][j] = int64(binary.LittleEndian.Uint64(content[16*i+8*j:]))
		}
	}
	return ends
}
