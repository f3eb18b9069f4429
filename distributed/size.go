package distributed

import (
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// sizeOf is about how many bytes a table's rows take on their way to another rank. Of texts
// and lists on a device, whose offsets the host cannot read, it is what their buffers hold.
func sizeOf(t *table.Table) (n int64) {
	dicts := map[*memory.Column]bool{}
	for _, b := range t.Chunks() {
		for i := range b.NumColumns() {
			n += columnSize(b.Column(i), dicts)
		}
	}
	return n
}

// columnSize counts every dictionary once.
func columnSize(c *memory.Column, dicts map[*memory.Column]bool) (n int64) {
	if c.MayHaveNulls() && c.Buffer(0) != nil {
		n += memory.BitmapBytes(c.Len())
	}
	from, to := c.Offset(), c.Offset()+c.Len()
	switch memory.LayoutOf(c.Type()) {
	case memory.LayoutBits:
		n += memory.BitmapBytes(c.Len())
	case memory.LayoutFixed:
		n += c.Len() * int64(memory.Width(c.Type()))
	case memory.LayoutDictionary:
		n += c.Len() * int64(memory.Width(c.Type()))
		if d := c.Dictionary(); !dicts[d] {
			dicts[d] = true
			n += columnSize(d, dicts)
		}
	case memory.LayoutBinary, memory.LayoutLargeBinary:
		first, last := window(c)
		n += c.Len()*offsetWidth(c) + last - first
	case memory.LayoutList, memory.LayoutLargeList:
		first, last := window(c)
		n += c.Len() * offsetWidth(c)
		if items, err := c.Child(0).Slice(first, last-first); err == nil {
			n += columnSize(items, dicts)
			items.Release()
		}
	case memory.LayoutStruct:
		for i := range c.NumChildren() {
			if field, err := c.Child(i).Slice(from, to-from); err == nil {
				n += columnSize(field, dicts)
				field.Release()
			}
		}
	}
	return n
}

func offsetWidth(c *memory.Column) int64 {
	switch memory.LayoutOf(c.Type()) {
	case memory.LayoutLargeBinary, memory.LayoutLargeList:
		return 8
	}
	return 4
}

// window is where the texts or items of a column begin and end.
func window(c *memory.Column) (first, last int64) {
	if c.Len() == 0 {
		return 0, 0
	}
	if !c.Place().HostAccessible() {
		if c.NumChildren() > 0 {
			return 0, c.Child(0).Len()
		}
		if c.Buffer(2) == nil {
			return 0, 0
		}
		return 0, c.Buffer(2).Len()
	}
	if offsetWidth(c) == 8 {
		o := memory.Offsets[int64](c)
		return o[0], o[len(o)-1]
	}
	o := memory.Offsets[int32](c)
	return int64(o[0]), int64(o[len(o)-1])
}
