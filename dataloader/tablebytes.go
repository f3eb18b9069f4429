package dataloader

import (
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// tableBytes is how much memory a table's rows take. Of buffers that are larger than
// the window that a column shows, as those of a piece of a larger batch are, that
// window counts: all pieces of a batch together count about once.
func tableBytes(t *table.Table) (n int64) {
	for _, b := range t.Chunks() {
		for i := range b.NumColumns() {
			n += columnBytes(b.Column(i))
		}
	}
	return n
}

func columnBytes(c *memory.Column) (n int64) {
	if c.Buffer(0) != nil {
		n += memory.BitmapBytes(c.Len())
	}
	if d := c.Dictionary(); d != nil {
		n += columnBytes(d)
	}
	switch memory.LayoutOf(c.Type()) {
	case memory.LayoutBits:
		return n + memory.BitmapBytes(c.Len())
	case memory.LayoutBinary, memory.LayoutList:
		return n + offsetBytes[int32](c, 4)
	case memory.LayoutLargeBinary, memory.LayoutLargeList:
		return n + offsetBytes[int64](c, 8)
	case memory.LayoutStruct:
		for i := range c.NumChildren() {
			f := c.Field(i)
			n += columnBytes(f)
			f.Release()
		}
		return n
	default:
		return n + c.Len()*int64(memory.Width(c.Type()))
	}
}

// offsetBytes is what the offsets of a column and its items take.
func offsetBytes[T int32 | int64](c *memory.Column, width int64) int64 {
	if c.Len() == 0 {
		return 0
	}
	o := memory.Offsets[T](c)
	n, from, items := width*int64(len(o)), int64(o[0]), int64(o[len(o)-1]-o[0])
	if c.NumChildren() == 0 {
		return n + max(0, items)
	}
	of, err := c.Child(0).Slice(from, items)
	if err != nil {
		return n // of offsets that are wrong, which who reads them reports
	}
	defer of.Release()
	return n + columnBytes(of)
}
