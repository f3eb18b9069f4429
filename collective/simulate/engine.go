package simulate

import (
	"context"
	"fmt"
	"iter"
	"math"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/device"
)

// engine runs one call.
type engine struct {
	config  *Config
	net     *Network
	samples *samples
	width   float64
	hinders bool // ranks of a node slow each other at bytes

	inside, near, across costs
	vectors              float64 // bytes that the ranks of the root's node read or write
	folds                rate    // within a rank

	ranks    []rank
	left     int // that are neither done nor dead
	events   events
	messages []message
	free     []int32
	cores    []core // by node; nil where every rank has its own
	err      error

	until  []float64 // when each link is free
	busy   []float64 // seconds that it carried
	queues []queue   // of the links out of nodes
	order  map[uint64]float64
	lanes  map[uint64]*lane // inside nodes, where it matters what is on them,
	byID   []*lane          // and by their numbers
	path   []int32

	a, b, into cells // room for what is combined
}

// queue are messages that wait for a link.
type queue struct {
	waiting []int32
	first   int
}

func newEngine(c *Config, call algorithm.Call, with *algorithm.Algorithm) *engine {
	n := c.Network
	vectors := 0.0
	for lo, r := call.Root/n.PerNode*n.PerNode, 0; r < n.PerNode && lo+r < call.Size; r++ {
		of := call
		of.Rank = lo + r
		vectors += float64(touched(with.Plan(of), func(elements int64) bool { return n.past(float64(elements) * float64(c.Width)) })) * float64(c.Width)
	}
	e := &engine{
		config: c, net: n, samples: newSamples(call, with, c.Seed, c.Samples), width: float64(c.Width),
		inside: n.Inside.at(vectors, &n.Caches), across: n.Across.at(vectors, &n.Caches), vectors: vectors, folds: n.Fold.at(vectors),
		ranks: make([]rank, call.Size), left: call.Size,
		until: make([]float64, len(n.links)), busy: make([]float64, len(n.links)), queues: make([]queue, n.Nodes*n.rails),
	}
	e.hinders = len(n.Copy.Two) > 0 || e.folds.more != 0 || e.inside.hinders() || e.across.hinders()
	e.inside.inside = true
	e.near = e.inside
	if n.Near != nil {
		e.near = n.Near.at(vectors, &n.Caches)
		e.near.inside = true
	}
	e.cores = newCores(n, call.Size)
	if n.rails > 1 {
		e.order = map[uint64]float64{}
	}
	if len(n.Inside.Gap) > 0 || n.Inside.Depth > 0 || n.Inside.Next > 0 {
		e.lanes = map[uint64]*lane{}
	}
	for r := range e.ranks {
		k := &e.ranks[r]
		of := call
		of.Rank = r
		k.slow, k.clock = 1, n.Call
		if e.cores != nil {
			k.clock += skew * float64(r)
		}
		for _, s := range c.Stragglers {
			if s.Rank == r {
				k.slow, k.clock = math.Max(1, s.Slow), k.clock*math.Max(1, s.Slow)+s.Late.Seconds()
			}
		}
		k.mem[algorithm.Input] = e.samples.given(r)
		k.plan = with.Plan(of)
		k.next, k.stop = iter.Pull(k.plan.Rounds)
		e.events.push(k.clock, begins, int32(r))
	}
	return e
}

// run takes events until there are none, or ctx ends.
func (e *engine) run(ctx context.Context) error {
	for n := 0; len(e.events.all) > 0 && e.err == nil; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return device.Canceled(ctx, "", "simulate")
		}
		e.happen(e.events.pop())
	}
	if e.err != nil {
		return &device.Error{Call: "simulate", Kind: device.ErrMismatch, Cause: e.err}
	}
	if e.left > 0 && e.config.Failure == nil {
		for r := range e.ranks {
			if k := &e.ranks[r]; k.phase != done {
				return device.Errorf(device.ErrMismatch, "", "simulate", "rank %d hangs in round %d: the schedule is wrong", r, k.steps)
			}
		}
	}
	return nil
}

func (e *engine) happen(v event) {
	switch v.kind {
	case begins:
		e.ranks[v.id].phase = starting
		e.resume(v.id, v.at)
	case leaves:
		e.leave(v.id, v.at)
	case departs:
		e.depart(v.at, v.id)
	case freed:
		e.serve(v.at, v.id)
	case arrives:
		e.arrive(v.at, v.id)
	case works:
		switch k := &e.ranks[v.id]; {
		case k.due:
			k.due, k.to = false, k.from
			e.walk(v.id)
		case k.paused && k.clock == v.at:
			k.paused = false
			e.turn(v.id)
		}
	case emptied:
		e.empty(e.byID[v.id], v.at)
	case acked:
		k := &e.ranks[v.id]
		k.held--
		if k.phase == flushing && k.held == 0 {
			e.resume(v.id, v.at)
		}
	}
}

// arrive is a message at its receiver. Ranks whose messages come at the same time work on them at the same
// time, so where they hinder each other each is at work before the first of them has taken its message.
func (e *engine) arrive(at float64, i int32) {
	m := &e.messages[i]
	k := &e.ranks[m.to]
	k.here = append(k.here, i)
	switch {
	case k.phase != receiving || int(k.taken) == len(k.round.Recvs) || int32(k.round.Recvs[k.taken].From) != m.from:
	case e.cores != nil || !e.hinders || m.bytes == 0:
		e.resume(m.to, at)
	case !k.due:
		k.due, k.clock = true, max(k.clock, at)
		k.from, k.to = k.clock, math.Inf(1)
		e.events.push(k.clock, works, m.to)
	}
}

// close lets go of the schedules that were not walked to their end.
func (e *engine) close() {
	for r := range e.ranks {
		if stop := e.ranks[r].stop; stop != nil {
			stop()
		}
	}
}

// message is a free one.
func (e *engine) message() int32 {
	if n := len(e.free); n > 0 {
		i := e.free[n-1]
		e.free = e.free[:n-1]
		return i
	}
	e.messages = append(e.messages, message{})
	return int32(len(e.messages) - 1)
}

// between are the costs between two ranks.
func (e *engine) between(a, b int32) *costs {
	switch {
	case int(a)/e.net.PerNode != int(b)/e.net.PerNode:
		return &e.across
	case e.cores != nil && e.coreOf(a) == e.coreOf(b):
		return &e.near
	}
	return &e.inside
}

func wrongLength(rank int, v *algorithm.Recv, m *message) error {
	return fmt.Errorf("rank %d expects %d elements of rank %d, which sends %d", rank, v.Into.Len, v.From, m.elements)
}
