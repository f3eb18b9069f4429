package gpu

import "github.com/volley-go/volley/memory"

// keyParts are rows of keys brought together by some bits of their hashes: part
// p is the rows order[begins[p]] to order[begins[p+1]-1], by hash in the bytes
// that hold these bits and then in order, with their hashes beside them. Rows
// that are not live are in no part. Of a key of one word the hash says which it
// is.
type keyParts struct {
	bits   int            // 2^bits parts
	hashes *memory.Buffer // 64-bit words
	order  *memory.Buffer // row numbers of width bytes
	width  int
	begins *memory.Buffer // 64-bit words
	n      int64          // live rows
}

// mask is the bits of the hash that the rows are sorted by, whole bytes, the
// upper ones of which, from shift on, are the part.
func (p *keyParts) mask() uint64 { return 1<<((p.bits+7)/8*8) - 1 }

func (p *keyParts) shift() int32 { return int32((p.bits+7)/8*8 - p.bits) }

func (p *keyParts) parts() int64 { return 1 << p.bits }

// partModule is the module that makes the hashes of keys like these.
func (rows keyRows) partModule() string {
	if rows.text {
		return "keypart.text"
	}
	return "keypart.words"
}

// keyParts sorts rows into 2^bits parts: for each eight bits a pass that reads
// and writes 12 bytes a row. It waits for the stream, twice where some rows are
// not live.
func (c *call) keyParts(rows keyRows, bits int) *keyParts {
	p := &keyParts{bits: bits, width: rowWidth(rows.n), n: rows.n}
	var kept *memory.Buffer
	if rows.live.buffer != nil {
		kept, p.n = c.compact(rows.live, rows.n, p.width)
	}
	hashes := c.temp(8 * p.n)
	c.launch(rows.partModule(), "keypart_hash", c.strided(p.n), rows.words, rows.k, pointer(kept), boolArg(p.width == 8), hashes, p.n)
	p.hashes, p.order = c.radixSort(hashes, 8, bits, kept, p.width, p.n, true)
	p.begins = c.temp(8 * (p.parts() + 1))
	c.launch(rows.partModule(), "keypart_starts", c.strided(p.parts()+1), p.hashes, p.n, p.mask(), p.shift(), p.begins, p.parts())
	return p
}

// over is a bit for each live row whose part has its bit set in parts.
func (c *call) over(rows keyRows, p *keyParts, parts *memory.Buffer) *memory.Buffer {
	out := c.temp(bitBytes(rows.n))
	c.launch(rows.partModule(), "keypart_over", c.strided(rows.n), rows.words, rows.k, rows.live, p.mask(), p.shift(), parts, out, rows.n)
	return out
}
