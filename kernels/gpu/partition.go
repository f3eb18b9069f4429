package gpu

import (
	"context"
	"encoding/binary"
	"math/bits"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// partition is the GPU's PartitionFunc: the rows sorted by the number of their
// partition, a pass for each eight bits of it.
func (e *Engine) partition(ctx context.Context, s device.Stream, keys []*memory.Column, o kernels.PartitionOptions) (_ *kernels.Partitions, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	n := o.Rows
	if len(keys) > 0 {
		n = keys[0].Len()
	}
	p := &kernels.Partitions{Offsets: make([]int64, o.Parts+1)}
	width := rowWidth(n)
	var numbers *memory.Buffer
	switch {
	case n == 0:
		numbers = c.temp(0)
	case o.Scheme == kernels.ByRoundRobin:
		numbers = c.partitionTurns(p, width, n)
	default:
		numbers = c.partitionSorted(p, keys, o, width, n)
	}
	p.Rows = c.give(c.column(memory.Parts{Type: kernels.IndexType(n), Len: n, Buffers: []*memory.Buffer{nil, c.asResult(numbers)}}))
	if c.err != nil {
		return nil, c.err
	}
	return p, nil
}

// asResult makes scratch memory that of a result.
func (c *call) asResult(b *memory.Buffer) *memory.Buffer {
	for i, have := range c.scratch {
		if have == b && b != nil {
			c.scratch = append(c.scratch[:i], c.scratch[i+1:]...)
			c.results = append(c.results, b)
			break
		}
	}
	return b
}

// partitionTurns deals rows out in turns: where each goes follows from its number.
func (c *call) partitionTurns(p *kernels.Partitions, width int, n int64) *memory.Buffer {
	parts := int64(len(p.Offsets) - 1)
	each, longer := n/parts, n%parts
	for i := range parts {
		p.Offsets[i+1] = p.Offsets[i] + each
		if i < longer {
			p.Offsets[i+1]++
		}
	}
	out := c.temp(int64(width) * n)
	c.launch("partition", "partition_turns", c.strided(n), int32(width), out, n, parts, each, longer)
	return out
}

func (c *call) partitionSorted(p *kernels.Partitions, keys []*memory.Column, o kernels.PartitionOptions, width int, n int64) *memory.Buffer {
	numbers := c.temp(4 * n)
	if o.Scheme == kernels.ByHash {
		hashes := c.hashKeys(keys, 0)
		c.launch("partition", "partition_hash", c.strided(n), hashes, uint64(o.Parts), numbers, n)
		c.drop(hashes)
	} else {
		c.partitionRange(numbers, keys[0], o.Bounds)
	}
	numbers, sorted := c.sortPairs(numbers, bits.Len(uint(o.Parts-1)), nil, width, n)
	parts := int64(o.Parts)
	starts := c.temp(8 * (parts + 1))
	c.launch("partition", "partition_starts", groupsFor(parts+1, group), numbers, n, starts, parts)
	content := c.read(starts, 0, 8*(parts+1))
	for i := range p.Offsets {
		p.Offsets[i] = int64(binary.LittleEndian.Uint64(content[8*i:]))
	}
	return sorted
}

// partitionRange counts for each key the bounds that it is not less than; null
// bounds come last and only a null is not less than those.
func (c *call) partitionRange(out *memory.Buffer, key, bounds *memory.Column) {
	last := uint32(bounds.Len())
	bounds = c.decode(bounds)
	if !c.ok() {
		return
	}
	count := int64(0)
	if memory.LayoutOf(bounds.Type()) != memory.LayoutNull {
		count = c.countBits(c.validity(bounds), bounds.Len())
	}
	entry, args := "partition_fixed", c.readable(key)
	limits := []any{c.data(bounds), count, last}
	if kindOf(bounds.Type()).text() {
		entry = "partition_text"
		values := key
		if key.Dictionary() != nil {
			values = key.Dictionary()
		}
		args, limits = append(args, c.bytes(values)), append(limits, c.bytes(bounds))
	}
	args = append(append(args, limits...), out, key.Len())
	c.launch("partition", entry, c.strided(key.Len()), args...)
}
