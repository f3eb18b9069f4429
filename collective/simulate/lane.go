package simulate

import "github.com/volley-go/volley/collective/algorithm"

// lane is one direction between two ranks of a node.
type lane struct {
	id, from int32
	used     bool
	last     float64 // when the last message came
	sizes    []int64 // of the messages that were not taken: bytes of those that need no flush
	bytes    int64   // all of these
	waiting  bool    // the sender waits for room
	ahead    int     // messages that came with the one that was taken last
}

// lane is the lane from one rank to another.
func (e *engine) lane(from, to int32) *lane {
	name := uint64(from)<<32 | uint64(to)
	l := e.lanes[name]
	if l == nil {
		l = &lane{id: int32(len(e.byID)), from: from}
		e.lanes[name] = l
		e.byID = append(e.byID, l)
	}
	return l
}

// enter is a message on the lane: when it comes to its receiver, which is no sooner than
// a gap after the one before.
func (l *lane) enter(c *costs, m *message, at float64) float64 {
	if l.used && len(c.Gap) > 0 {
		at = max(at, l.last+c.Gap.At(m.bytes))
	}
	l.used, l.last = true, at
	m.tail = max(m.tail, at)
	if c.Depth > 0 {
		size := int64(m.bytes)
		if m.waits {
			size = 0
		}
		l.sizes = append(l.sizes, size)
		l.bytes += size
	}
	return at
}

// full says that a lane has no room for a message, which its sender waits for then.
func (e *engine) full(r int32, s *algorithm.Send) bool {
	c := e.between(r, int32(s.To))
	if c.Depth == 0 || !c.inside {
		return false
	}
	l, bytes := e.lane(r, int32(s.To)), int64(float64(s.From.Len)*e.width)
	if bytes > c.Eager {
		bytes = 0
	}
	l.waiting = len(l.sizes) > 0 && (len(l.sizes) >= c.Depth || l.bytes+bytes > c.Room && c.Room > 0 && len(l.sizes) >= c.Least)
	return l.waiting
}

// empty takes the first message off a lane and lets a sender on that waits for that.
func (e *engine) empty(l *lane, at float64) {
	l.bytes -= l.sizes[0]
	l.sizes = append(l.sizes[:0], l.sizes[1:]...)
	if l.waiting {
		l.waiting = false
		e.resume(l.from, at)
	}
}

// taking is what the receiver of a message takes besides its bytes: less where that came with
// one before it.
func (e *engine) taking(c *costs, k *rank, r int32, m *message) float64 {
	if c.Next == 0 || !c.inside {
		return c.Recv
	}
	l := e.lane(m.from, r)
	if l.ahead > 0 {
		l.ahead--
		return c.Next
	}
	bytes := m.bytes
	for _, i := range k.here {
		if x := &e.messages[i]; x.from == m.from {
			if bytes += x.bytes; bytes > float64(c.Batch) {
				break
			}
			l.ahead++
		}
	}
	return c.Recv
}
