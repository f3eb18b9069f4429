package collective

import (
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/timeline"
)

// merging is the number, in headers, of an all-reduce that the endpoint does: no algorithm's.
const (
	merging     = 255
	mergingName = "merge"
)

// chooseOrMerge is the algorithm of a call, and whether the endpoint does it instead, reductions of the
// user's excepted: an all-reduce for which nobody asked for a certain algorithm.
func (c *Comm) chooseOrMerge(call *algorithm.Call, width int64, inOrder bool) (with *algorithm.Algorithm, merges bool) {
	with, why := c.choose(call, width, inOrder)
	return with, c.merges(call, width) && (why == byModel || why == byTuned)
}

// merges says whether the endpoint would do a call.
func (c *Comm) merges(call *algorithm.Call, width int64) bool {
	return c.merger != nil && call.Op == algorithm.AllReduce && c.merger.Merges(int(c.bytes(call, width)))
}

// doMerge has the endpoint do the all-reduce that the mover's header tells of.
func (c *Comm) doMerge(in, out []byte) error {
	m, from := &c.merge, c.lap()
	m.Header, m.In, m.Out, m.Combine = &c.mover.header, in, out, c.mover.fold
	err := c.merger.Merge(m)
	m.In, m.Out, m.Combine = nil, nil, nil
	if err != nil {
		return err
	}
	// What is read of each of the others is a block, and what is written: all ranks' together are the vectors.
	moved, p := int64(len(in)), int64(c.Size())
	c.tally.sent.add(2 * moved * (p - 1) / p)
	c.tally.received.add(2 * moved * (p - 1) / p)
	c.traceLocal(timeline.Reduce, from, moved/c.mover.width)
	return nil
}
