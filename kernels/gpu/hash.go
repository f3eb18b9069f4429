package gpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// hash is the GPU's HashFunc.
func (e *Engine) hash(ctx context.Context, s device.Stream, keys []*memory.Column, seed uint64) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	n := keys[0].Len()
	out := c.result(8 * n)
	c.hashInto(out, keys, seed)
	return c.give(c.column(memory.Parts{Type: arrow.PrimitiveTypes.Uint64, Len: n, Buffers: []*memory.Buffer{nil, out}})), c.err
}

// hashKeys is the row hashes of kernels.HashFunc over columns of one length, as
// scratch memory of 64-bit words.
func (c *call) hashKeys(keys []*memory.Column, seed uint64) *memory.Buffer {
	out := c.temp(8 * keys[0].Len())
	c.hashInto(out, keys, seed)
	return out
}

func (c *call) hashInto(out *memory.Buffer, keys []*memory.Column, seed uint64) {
	n := keys[0].Len()
	for i, key := range keys {
		chained := int32(min(i, 1))
		entry, args := "hash_fixed", c.readable(key)
		values := key
		if key.Dictionary() != nil {
			values = key.Dictionary()
		}
		if kernels.BinaryTypes.Has(values.Type().ID()) {
			entry, args = "hash_text", append(args, c.bytes(values))
		}
		c.launch("hash", entry, c.strided(n), append(args, out, n, seed, chained)...)
	}
}
