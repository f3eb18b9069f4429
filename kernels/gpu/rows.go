package gpu

import (
	"github.com/volley-go/volley/memory"
)

// selectTile is the rows of a tile of select.h.
const selectTile = 2048

// rows are row numbers on the device. All ones, and whatever else is past the
// end of a column, stands for a null row where nullable says that there are such.
type rows struct {
	vector       // the first one, counted in numbers
	width    int // bytes of a number: 4 or 8
	n        int64
	nullable bool
	bad      *memory.Buffer // one word, all ones at first: gets the first position past a column's end
}

// rowWidth is the bytes of row numbers below n, such that all ones is none.
func rowWidth(n int64) int {
	if n < 1<<32 {
		return 4
	}
	return 8
}

// rowsModule is the module for row numbers of a width.
func rowsModule(stem string, width int) string {
	if width == 4 {
		return stem + ".u32"
	}
	return stem + ".u64"
}

// iota is the row numbers 0 to n-1, of 4 or 8 bytes, as scratch memory.
func (c *call) iota(n int64, width int) *memory.Buffer {
	b := c.temp(n * int64(width))
	c.launch(rowsModule("rows", width), "rows_iota", c.strided(n), b, n)
	return b
}

// compact is the numbers, of 4 or 8 bytes, of those of n bits that are set, in
// order, as scratch memory, and how many there are. It waits for the stream.
func (c *call) compact(flags vector, n int64, width int) (*memory.Buffer, int64) {
	k := c.keep(flags, vector{}, false, n)
	return c.keptRows(k, width), k.count
}

// kept is what a mask keeps of n rows.
type kept struct {
	mask, known vector // bits; without known no bit of the mask is null
	emit        int32  // 1: a null in the mask gives a null row
	n           int64
	starts      *memory.Buffer // for each tile the rows kept before it
	count       int64
}

// keep counts what a mask keeps: the length of the result is known before it
// is made, and only the mask was read for it. It waits for the stream.
func (c *call) keep(mask, known vector, emit bool, n int64) kept {
	k := kept{mask: mask, known: known, n: n}
	if emit && known.buffer != nil {
		k.emit = 1
	}
	if n == 0 {
		return k
	}
	c.keepStarts(&k)
	k.count = c.readInt64(k.starts, groupsFor(n, selectTile))
	return k
}

// keepStarts counts what is kept tile by tile.
func (c *call) keepStarts(k *kept) {
	tiles := groupsFor(k.n, selectTile)
	counts := c.temp(4 * tiles)
	c.launch("rows.u32", "rows_count", groupsFor(k.n, 64*group), k.mask, k.known, k.emit, counts, k.n)
	k.starts = c.prefix(counts, 4, tiles)
	c.drop(counts)
}

// keptRows is the numbers of the rows kept, all ones for a null row.
func (c *call) keptRows(k kept, width int) *memory.Buffer {
	b := c.temp(k.count * int64(width))
	if k.count > 0 {
		c.launch(rowsModule("rows", width), "rows_kept", groupsFor(k.n, selectTile), k.mask, k.known, k.emit, k.starts, b, k.n)
	}
	return b
}

// pointer is a buffer, or without one a null pointer, as an argument.
func pointer(b *memory.Buffer) any {
	if b == nil {
		return null()
	}
	return b
}
