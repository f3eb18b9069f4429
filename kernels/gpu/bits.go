package gpu

import "github.com/volley-go/volley/memory"

// bitBytes is the size of a bitmap of n bits, in whole 32-bit words: bitmaps
// are written by words.
func bitBytes(n int64) int64 { return (n + 31) / 32 * 4 }

// copyBits makes a bitmap, for a result, of n bits from a vector of bits.
func (c *call) copyBits(from vector, n int64) *memory.Buffer {
	out := c.result(bitBytes(n))
	c.launch("bits", "bits_copy", groupsFor(n, 32*group), from, out, n)
	return out
}

// mergeValidity is the validity of a result that is null where any of the
// columns is null: nil where none of them has nulls.
func (c *call) mergeValidity(n int64, cols ...*memory.Column) *memory.Buffer {
	var merged vector
	var out *memory.Buffer
	for _, col := range cols {
		v := c.validity(col)
		if v.buffer == nil {
			continue
		}
		if out == nil && merged.buffer == nil {
			merged = v
			continue
		}
		next := c.result(bitBytes(n))
		c.launch("bits", "bits_and", groupsFor(n, 32*group), merged, v, next, n)
		out, merged = next, vector{next, 0}
	}
	if out == nil && merged.buffer != nil {
		return c.copyBits(merged, n)
	}
	return out
}

// countBits counts the ones among n bits. It waits for the stream.
func (c *call) countBits(v vector, n int64) int64 {
	if n == 0 || v.buffer == nil {
		return n
	}
	count := c.zeroed(8)
	c.launch("bits", "bits_count", c.strided((n+31)/32), v, n, count)
	return c.readInt64(count, 0)
}
