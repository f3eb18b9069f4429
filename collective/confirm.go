package collective

import (
	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
)

// In a Broadcast or a Scatter the root hears of nobody, in a Reduce or a Gather the others; nobody does in a call without elements.
// If ranks disagree there, each may send what another one never asks for, return, and fail in the next call only, with a wrong
// result in its hands. So a call that was not to be expected is confirmed: behind it the ranks show each other what they called, as
// in a Barrier by dissemination, in which each hears of all others through some.
//
// What is to be expected follows from the calls before, which agreed: behind the same two kinds of calls the one that came the last
// time. Ranks that disagree cannot all have made the call that they expect alike, so at least one of them confirms, and finds out.
// Calls that repeat, or take turns, cost nothing.

// kind is what tells calls apart that may be confirmed: what all ranks say alike. The words are the operation, the reduction and the
// root; and the count. A vector's type is not there, since a rank that has no element to give may give no vector.
type kind [2]uint64

func kindOf(c *transport.Call) kind {
	return kind{uint64(c.Op) | uint64(c.Reduce)<<8 | uint64(uint32(c.Root))<<32, uint64(c.Count)}
}

// kinds are the calls that may be confirmed, as they followed each other. It is the same on all ranks.
type kinds struct {
	next     map[[2]kind]kind // by the two before, the call that followed the last time
	before   [2]kind          // the latest
	expected kind             // what follows them
	known    bool             // there is such a one
	steady   bool             // the next one is expected to be the latest, and then again
}

// follow takes in a call that all ranks agree on.
func (s *kinds) follow(k kind) {
	s.before = [2]kind{s.before[1], k}
	s.expected, s.known = s.next[s.before]
	s.steady = s.known && s.expected == k && s.before[0] == k
}

// repeats says that this call is expected, and that taking it in would change nothing.
func (s *kinds) repeats(k kind) bool { return s.steady && s.before[1] == k }

// learn takes in that a call came which was not expected.
func (s *kinds) learn(k kind) {
	if len(s.next) >= keptKinds { // all ranks do so at the same call
		clear(s.next)
	}
	s.next[s.before] = k
}

// confirming is the number in place of the algorithm's.
const confirming = merging - 1

// keptKinds bounds what is remembered.
const keptKinds = 512

// unheard says whether a rank may return from an operation without hearing of others.
func unheard(call *transport.Call) bool {
	switch algorithm.Op(call.Op) {
	case algorithm.Broadcast, algorithm.Scatter, algorithm.Reduce, algorithm.Gather:
		return true
	case algorithm.Barrier:
		return false
	}
	return call.Count == 0
}

// confirm is called behind an operation for which unheard holds.
func (c *Comm) confirm(call *transport.Call) error {
	if c.Size() == 1 {
		return nil
	}
	k := kindOf(call)
	if !c.kinds.known || c.kinds.expected != k {
		if err := c.disseminate(call); err != nil {
			return err
		}
		c.kinds.learn(k)
	}
	c.kinds.follow(k)
	return nil
}

// disseminate shows the ranks each other's call.
func (c *Comm) disseminate(call *transport.Call) error {
	rank, size := c.Rank(), c.Size()
	h := transport.Header{Seq: c.seq, Call: transport.Call{Op: call.Op, Reduce: call.Reduce, Root: call.Root, Count: call.Count, Algorithm: confirming}}
	for step := 1; step < size; step *= 2 {
		to, from := (rank+step)%size, (rank+size-step)%size
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
		c.now.on(to) // an error of the flush is of that rank, and a wait in it too
		if err := c.ends.Flush(to); err != nil {
			return err
		}
		c.now.moved()
	}
	return nil
}
