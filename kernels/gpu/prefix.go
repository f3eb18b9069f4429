package gpu

import "github.com/volley-go/volley/memory"

// prefixTile is the number of counts that one group of prefix.cl sums up.
const prefixTile = 2048

// prefix is the exclusive prefix sums of n counts of 4 or 8 bytes (width) as
// scratch memory of n+1 64-bit words, the last one the sum of all.
func (c *call) prefix(counts *memory.Buffer, width int, n int64) *memory.Buffer {
	out := c.temp(8 * (n + 1))
	if n == 0 {
		c.fill(out, 0)
		return out
	}
	module := "prefix.u32"
	if width == 8 {
		module = "prefix.u64"
	}
	tiles := groupsFor(n, prefixTile)
	state, ticket := c.zeroed(8*tiles), c.zeroed(4)
	c.launch(module, "prefix", tiles, counts, out, n, state, ticket)
	c.drop(state)
	c.drop(ticket)
	return out
}
