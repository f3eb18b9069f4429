package collective

import (
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/timeline"
	"github.com/volley-go/volley/collective/transport"
)

// merging is the number, in headers, of a reduction that the endpoint does: no algorithm's.
const merging = 255

// MergeName stands in the place of an algorithm's name for reductions that the transport does without one, as ranks do that read
// and write each other's memory: in timelines, and in a [Tuning]'s choices.
const MergeName = "merge"

// mergers says who has the results of the operations that endpoints may do.
var mergers = map[algorithm.Op]transport.Merged{
	algorithm.AllReduce:     transport.ToAll,
	algorithm.Reduce:        transport.ToRoot,
	algorithm.ReduceScatter: transport.ToBlocks,
}

// chooseOrMerge is the algorithm of a call, why, and whether the endpoint does it instead, reductions of the
// user's excepted: one that it can do, for which no algorithm is named and which a tuning table that has
// timed merges does not have another way for.
func (c *Comm) chooseOrMerge(call *algorithm.Call, width int64, inOrder bool) (with *algorithm.Algorithm, why string, merges bool) {
	with, why = c.choose(call, width, inOrder)
	return with, why, why != byName && c.merges(call, width) && c.options.Tuning.merges(c.Transport(), call.Op, call.Size, c.bytes(call, width))
}

// Merges says whether the transport can do a reduction of n elements (of all blocks together) without an algorithm.
func (c *Comm) Merges(op algorithm.Op, t Type, n int64) bool {
	if op == algorithm.ReduceScatter {
		n /= int64(c.Size())
	}
	return c.merges(&algorithm.Call{Op: op, Size: c.Size(), Count: n}, int64(t.Width()))
}

// merges says whether the endpoint would do a call.
func (c *Comm) merges(call *algorithm.Call, width int64) bool {
	to, ok := mergers[call.Op]
	return ok && c.merger != nil && call.Counts == nil && c.merger.Merges(to, int(c.bytes(call, width)))
}

// doMerge has the endpoint do the reduction that the mover's header tells of.
func (c *Comm) doMerge(in, out []byte) error {
	m := &c.merge
	m.Combining = nil
	if c.track != nil {
		m.Combining, c.mergeLap = c.combining, c.lap()
	}
	call := &c.mover.header.Call
	m.Header, m.To, m.Root, m.In, m.Out, m.Combine = &c.mover.header, mergers[algorithm.Op(call.Op)], int(call.Root), in, out, c.mover.fold
	m.Past = pastOf(call.Reduce, Type(call.Type))
	err := c.merger.Merge(m)
	m.In, m.Out, m.Combine, m.Past, m.Combining = nil, nil, nil, nil, nil
	c.traceLocal(timeline.Wait, c.mergeLap, 0)
	if err != nil {
		return err
	}
	sent, received := c.merged(m, int64(len(in)))
	c.tally.sent.add(sent)
	c.tally.received.add(received)
	return nil
}

// combining records the phases of a merge: a rank waits for all vectors, combines its block, and waits for the others' blocks.
func (c *Comm) combining(begins bool) {
	if begins {
		c.traceLocal(timeline.Wait, c.mergeLap, 0)
	} else {
		c.traceLocal(timeline.Reduce, c.mergeLap, int64(len(c.merge.In))/c.mover.width)
	}
	c.mergeLap = c.lap()
}

// merged is how many bytes of a merge of n left this rank's memory, and came: its parts of the others' blocks and their
// parts of its own, and what blocks come to.
func (c *Comm) merged(m *transport.Merge, n int64) (sent, received int64) {
	p := int64(c.Size())
	parts := n * (p - 1) / p
	sent, received = parts, parts
	switch {
	case m.To == transport.ToAll:
		sent, received = 2*parts, 2*parts
	case m.To == transport.ToRoot && m.Root == c.Rank():
		received += parts
	case m.To == transport.ToRoot:
		sent += n / p
	}
	return sent, received
}
