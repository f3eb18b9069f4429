package collective

import (
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
)

// In a Broadcast or a Scatter the root hears of nobody, in a Reduce or a Gather the others: where ranks disagree who the root is,
// each may send what another one never asks for, return, and fail in the next call only, with a wrong result in its hands. So
// the first call of its kind is confirmed: behind it the ranks show each other what they called, as in a Barrier by
// dissemination, in which each hears of all others through some. Calls of the same kind later cost nothing.

// kind is what tells calls apart that are to be confirmed: what all ranks say alike. A vector's type is not, since
// a rank that has no element to give may give no vector.
type kind struct {
	op     algorithm.Op
	reduce uint8
	root   int32
	count  int64
}

// confirming is the number in place of the algorithm's.
const confirming = merging - 1

// keptKinds bounds the kinds that are remembered.
const keptKinds = 512

// confirm is called behind an operation.
func (c *Comm) confirm(call *algorithm.Call, reduce uint8) error {
	switch call.Op {
	case algorithm.Broadcast, algorithm.Scatter, algorithm.Reduce, algorithm.Gather:
	default:
		return nil
	}
	k := kind{call.Op, reduce, int32(call.Root), call.Count}
	if call.Size == 1 || call.Count == 0 || c.confirmed[k] {
		return nil
	}
	if len(c.confirmed) >= keptKinds { // all ranks do so at the same call
		clear(c.confirmed)
		c.again.program = nil
	}
	h := transport.Header{Seq: c.seq, Call: transport.Call{Op: uint8(k.op), Reduce: k.reduce, Root: k.root, Count: k.count, Algorithm: confirming}}
	for step := 1; step < call.Size; step *= 2 {
		to, from := (call.Rank+step)%call.Size, (call.Rank+call.Size-step)%call.Size
		h.Step = c.sent[to]
		c.sent[to]++
		c.now.on(to)
		if err := c.ends.Post(to, &h, nil); err != nil {
			return err
		}
		h.Step = c.taken[from]
		c.taken[from]++
		c.now.on(from)
		if err := c.ends.Recv(from, &h, &transport.Sink{}); err != nil {
			return err
		}
		if err := c.ends.Flush(to); err != nil {
			return err
		}
		c.now.moved()
	}
	c.confirmed[k] = true
	return nil
}
