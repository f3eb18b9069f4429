package gpu

import (
	"encoding/binary"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// vector is a buffer with the index of an element in it: two arguments of a
// kernel, a pointer to the start of the buffer's allocation and the element as
// i64. Without a buffer it is a null pointer and 0.
type vector struct {
	buffer *memory.Buffer
	at     int64
}

// values are the values of a column whose buffer 1 has elements of width bytes:
// fixed-width values, dictionary indices, or the offsets of strings and lists.
// at is the window's first.
func (c *call) values(col *memory.Column, width int) vector {
	b := col.Buffer(1)
	if b == nil || width == 0 {
		return vector{}
	}
	_, offset := b.Handle()
	if offset%int64(width) != 0 {
		b, offset = c.aligned(b), 0
	}
	return vector{b, offset/int64(width) + col.Offset()}
}

// aligned is a copy of a buffer that starts where an allocation does.
func (c *call) aligned(b *memory.Buffer) *memory.Buffer {
	t := c.temp(b.Len())
	c.copy(t, 0, b, 0, b.Len())
	return t
}

// bits are the values of a bool column; at counts bits.
func (c *call) bits(col *memory.Column) vector { return bitmap(col.Buffer(1), col.Offset()) }

// validity is the validity bitmap of a column; at counts bits. It has no buffer
// where no value is null.
func (c *call) validity(col *memory.Column) vector {
	if !col.MayHaveNulls() {
		return vector{}
	}
	return bitmap(col.Buffer(0), col.Offset())
}

// bytes are the bytes of a string or binary column: its offsets count from at.
func (c *call) bytes(col *memory.Column) vector {
	b := col.Buffer(2)
	if b == nil {
		return vector{}
	}
	_, offset := b.Handle()
	return vector{b, offset}
}

func bitmap(b *memory.Buffer, bit int64) vector {
	if b == nil {
		return vector{}
	}
	_, offset := b.Handle()
	return vector{b, offset*8 + bit}
}

// null is a null pointer without an index.
func null() any { return device.Base{} }

// column makes a column of buffers from result, which it takes over. The
// caller owns the column, but the call releases it if it fails.
func (c *call) column(p memory.Parts) *memory.Column {
	if !c.ok() {
		return nil
	}
	p.Place = c.e.dev.Place()
	for _, b := range p.Buffers {
		c.taken(b)
	}
	for _, child := range p.Children {
		c.give(child)
	}
	c.give(p.Dictionary)
	col, err := memory.NewColumn(p)
	if err != nil {
		c.fail(err)
		return nil
	}
	return c.own(col)
}

func (c *call) taken(b *memory.Buffer) {
	for i, have := range c.results {
		if have == b && b != nil {
			c.results = append(c.results[:i], c.results[i+1:]...)
			return
		}
	}
}

// own releases a column at the call's end, unless give takes it away before.
func (c *call) own(col *memory.Column) *memory.Column {
	if col != nil {
		c.columns = append(c.columns, col)
	}
	return col
}

// give hands a column that the call owns to the caller: `return c.give(col), c.err`
// is how a call returns its result. A call that failed keeps it.
func (c *call) give(col *memory.Column) *memory.Column {
	if col == nil || c.err != nil {
		return nil
	}
	for i, have := range c.columns {
		if have == col {
			c.columns = append(c.columns[:i], c.columns[i+1:]...)
			break
		}
	}
	return col
}

// words64 is little-endian bytes as 64-bit words.
func words64(b []byte) []uint64 {
	out := make([]uint64, len(b)/8)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	return out
}
