package simulate

import (
	"iter"

	"github.com/volley-go/volley/collective/algorithm"
)

// phase is where in its schedule a rank is.
type phase uint8

const (
	absent    phase = iota // it has not entered the call
	starting               // it asks for the next round
	sending                // it posts the round's messages in order
	receiving              // it takes those of others in order
	flushing               // it waits until what it sent may be changed
	done
	died
)

// rank is one rank's walk through its schedule.
type rank struct {
	plan  algorithm.Plan
	calls int32 // done
	next  func() (*algorithm.Round, bool)
	stop  func()
	round *algorithm.Round
	phase phase
	given int32   // messages of the round that it has posted
	last  int32   // to whom the last of them went
	taken int32   // and those that it has received
	held  int32   // sent messages that may not be changed yet
	steps int32   // rounds done
	clock float64 // up to when it has worked, or since when it waits
	began float64 // its round
	slow  float64 // its processor's time, as a multiple
	from  float64 // since when it works on bytes,
	to    float64 // and until when
	// Of a rank that shares its processor: when it leaves that, unless it can go on before,
	// and whether it is among those that wait for it.
	leaves float64
	ready  bool
	slept  bool    // it had left when its message came
	due    bool    // its message has come, and it begins to work with those whose come at the same time
	paused bool    // others come to what happens before its clock first
	rest   float64 // what it had still to do when its processor was taken away
	here   []int32 // messages that have arrived and were not taken, in order
	mem    memory
	bytes  int64 // sent
	sent   int64 // messages
}

// message is one on its way, or at its receiver.
type message struct {
	from, to int32
	elements int64
	bytes    float64
	tail     float64 // when the last byte leaves the sender's processor; on arrival, when it is there
	waits    bool    // the sender waits until it may be changed
	fresh    bool    // the sender has written it in this call
	cells    cells
}

// walk lets a rank go on at its clock until it waits or is done.
func (e *engine) walk(r int32) {
	for k := &e.ranks[r]; e.step(r, k); {
	}
}

// step goes on by one thing; false when the rank waits or is done.
func (e *engine) step(r int32, k *rank) bool {
	switch k.phase {
	case starting:
		if f := e.config.Failure; f != nil && f.Rank == int(r) && f.Step == int(k.steps) {
			e.die(r, k)
			return false
		}
		round, more := k.next()
		if !more && int(k.calls)+1 < e.config.Calls {
			k.calls++
			k.next, k.stop = iter.Pull(k.plan.Rounds)
			k.clock += e.net.Call * k.slow
			return true
		}
		if !more {
			e.end(r, k)
			return false
		}
		k.round, k.given, k.taken, k.phase = round, 0, 0, sending
		k.began = k.clock
		e.local(r, k, round.Local)
	case sending:
		if int(k.given) == len(k.round.Sends) {
			e.local(r, k, k.round.Late)
			k.phase = receiving
			return true
		}
		s := &k.round.Sends[k.given]
		if e.pause(r, k) || e.full(r, s) {
			return false
		}
		e.post(r, k, s)
		k.given++
	case receiving:
		if int(k.taken) == len(k.round.Recvs) {
			k.phase = flushing
			return true
		}
		if e.pause(r, k) {
			return false
		}
		v := &k.round.Recvs[k.taken]
		m := e.take(k, int32(v.From))
		if m < 0 {
			return false
		}
		e.receive(r, k, v, m)
		k.taken++
	case flushing:
		if k.held > 0 {
			e.pause(r, k)
			return false
		}
		k.steps++
		k.phase = starting
	default:
		return false
	}
	return true
}

// work is the rank's processor at n bytes at a rate, after a fixed time.
func (e *engine) work(r int32, k *rank, fixed, bytes float64, rates ...rate) {
	workers := 1
	if bytes > 0 && e.hinders {
		workers = e.workers(r, k.clock+fixed*k.slow)
	}
	t := fixed
	for _, x := range rates {
		t += bytes * x.of(workers)
	}
	k.from = k.clock + fixed*k.slow
	k.clock += t * k.slow
	k.to = k.clock
}

// workers are the ranks of the node that work on bytes at a time, with this one.
func (e *engine) workers(r int32, at float64) int {
	n, lo := 1, int(r)/e.net.PerNode*e.net.PerNode
	for o := lo; o < min(lo+e.net.PerNode, len(e.ranks)); o++ {
		if k := &e.ranks[o]; o != int(r) && k.from <= at && at < k.to {
			n++
		}
	}
	if e.net.Cores > 0 {
		n = min(n, e.net.Cores)
	}
	return n
}

// local does steps of a round without messages.
func (e *engine) local(r int32, k *rank, steps []algorithm.Local) {
	for i := range steps {
		l := &steps[i]
		if !l.Fold && l.Into == l.A { // in place there is nothing to do
			continue
		}
		bytes := float64(l.Into.Len) * e.width
		e.into = k.mem.read(e.into[:0], l.A)
		x := e.net.Copy.of(bytes, e.vectors, &e.net.Caches)
		if l.Fold {
			x = e.folds
			e.a = append(e.a[:0], e.into...)
			e.b = k.mem.read(e.b[:0], l.B)
			e.into = fold(e.into[:0], e.a, e.b)
		}
		k.mem.write(l.Into, e.into)
		e.work(r, k, 0, bytes, x)
	}
}

// post sends a message.
func (e *engine) post(r int32, k *rank, s *algorithm.Send) {
	i := e.message()
	m := &e.messages[i]
	*m = message{from: r, to: int32(s.To), elements: s.From.Len, bytes: float64(s.From.Len) * e.width, fresh: s.From.Space != algorithm.Input, cells: k.mem.read(m.cells[:0], s.From)}
	k.bytes += int64(m.bytes)
	k.sent++
	k.last = int32(s.To)
	c := e.between(r, k.last)
	fixed := c.Send
	if e.cores != nil {
		fixed += e.rouse(r, k.last)
	}
	leaves := k.clock + fixed*k.slow
	e.work(r, k, fixed, m.bytes, c.work(m, &c.SendByte))
	m.tail = k.clock
	if m.waits = int64(m.bytes) > c.Eager; m.waits {
		k.held++
	}
	if c.inside {
		if int64(m.bytes) <= c.Whole {
			leaves = k.clock + m.bytes*c.Flight.At(m.bytes)
			m.tail = leaves
		} else {
			m.tail = max(m.tail, leaves+m.bytes*c.Stream.At(m.bytes)*k.slow)
		}
		m.tail += c.Latency
		leaves += c.Latency
		if e.lanes != nil {
			leaves = e.lane(m.from, m.to).enter(c, m, leaves)
		}
		e.events.push(leaves, arrives, i)
		return
	}
	e.events.push(leaves, departs, i)
}

// take finds the first message of a rank that has arrived, -1 where there is none.
func (e *engine) take(k *rank, from int32) int32 {
	for i, m := range k.here {
		if e.messages[m].from == from {
			k.here = append(k.here[:i], k.here[i+1:]...)
			return m
		}
	}
	return -1
}

// receive takes a message into the rank's memory. Its processor works as the bytes
// come, and is done no earlier than the last one has come.
func (e *engine) receive(r int32, k *rank, v *algorithm.Recv, i int32) {
	m := &e.messages[i]
	if m.elements != v.Into.Len && e.err == nil {
		e.err = wrongLength(int(r), v, m)
	}
	c := e.between(m.from, r)
	fixed := e.taking(c, k, r, m)
	if m.waits {
		fixed += c.Long
	}
	var folding, fresh rate
	side := c.work(m, &c.RecvByte)
	combined := v.Side != algorithm.Plain
	switch {
	case !combined:
	case len(c.CombineByte.One) > 0:
		side = c.CombineByte.of(m.bytes, c.vectors, c.caches)
	default:
		folding = c.fold
	}
	if combined {
		fixed += c.Combine
	}
	if m.fresh && m.waits {
		fresh = c.fresh
	}
	brought := e.before(c, k, m, combined, side)
	e.work(r, k, fixed, m.bytes-brought, side, folding, fresh)
	if combined && brought > 0 {
		e.work(r, k, 0, brought, e.folds)
	}
	k.clock = max(k.clock, m.tail+fixed*k.slow)
	if m.waits && c.inside {
		e.events.push(k.clock, acked, m.from)
	}
	if c.Depth > 0 && c.inside {
		e.events.push(k.clock, emptied, e.lane(m.from, r).id)
	}
	switch v.Side {
	case algorithm.Plain:
		k.mem.write(v.Into, m.cells)
	case algorithm.Right:
		e.a = k.mem.read(e.a[:0], v.With)
		e.into = fold(e.into[:0], e.a, m.cells)
		k.mem.write(v.Into, e.into)
	default:
		e.a = k.mem.read(e.a[:0], v.With)
		e.into = fold(e.into[:0], m.cells, e.a)
		k.mem.write(v.Into, e.into)
	}
	e.free = append(e.free, i)
}

// before are the bytes of a message that its sender has brought alone before the receiver took it: at
// half the pace of two, since it had nothing else to do and the receiver's round had begun; what is
// combined it has only copied to where the receiver finds it. A sender that others wait for too may be at work for them.
func (e *engine) before(c *costs, k *rank, m *message, combined bool, side rate) float64 {
	s := &e.ranks[m.from]
	pace, most := 2*side.one, m.bytes
	if combined {
		pace, most = e.net.Copy.of(m.bytes, c.vectors, c.caches).one, min(m.bytes, c.Laid)
	}
	if !c.Helped || !m.waits || !c.inside || s.phase != flushing || s.held > 1 || pace <= 0 {
		return 0
	}
	alone := k.clock - max(s.clock, k.began)
	return min(most, max(0, alone)/(pace*s.slow))
}

// end is a rank that has walked its schedule.
func (e *engine) end(r int32, k *rank) {
	k.phase = done
	e.left--
	k.stop()
	if e.config.Failure == nil && e.err == nil {
		e.err = e.samples.check(int(r), k.mem[algorithm.Output])
	}
	k.mem, k.next, k.stop, k.round = memory{}, nil, nil, nil
}

// die is a rank that fails.
func (e *engine) die(r int32, k *rank) {
	k.phase = died
	e.left--
	k.stop()
	k.mem, k.next, k.stop, k.round = memory{}, nil, nil, nil
}
