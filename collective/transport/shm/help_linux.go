package shm

import (
	"math/bits"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// A long message is taken in parts, in order, and two ranks can work on it: the reader
// reads parts from the writer's memory, and a writer that waits, or takes a message
// itself, lays parts into the lane's chunks, from where the reader takes them. Whoever counts
// slot.next on has those parts. A part in the chunks costs two copies, but one of them
// is made by a processor that was idle, and the other costs no call of the system.
const (
	part  = 32 << 10
	parts = chunks * chunk / part // in the chunks at a time
	// A reader looks so often whether the writer comes to help; one that lays parts of its
	// own, and so is in step with the writer, for about the time of a part.
	helpLooks     = 300
	exchangeLooks = 3000
	// Parts that a reader reads at a time from a writer that may come to help.
	helpedMost = 4
)

// partsOf is how many parts a message of n bytes has.
func partsOf(n int) uint32 { return uint32((n + part - 1) / part) }

// laid is where part number k lies in the chunks.
func (l *lane) laid(k uint32) []byte {
	at := k % parts * part
	return l.data[at/chunk][at%chunk : at%chunk+part]
}

// offer is what a writer may still lay of one message: nil where that is nothing.
func (e *endpoint) offer(l *lane, at *ends, k uint32) (s *slot, payload []byte) {
	payload, s = at.held[k&(e.depth-1)], &l.slots[k&(e.depth-1)]
	if payload == nil || s.manner != inPlace {
		return nil, nil
	}
	if _, _, left := s.parts(); left == 0 || !e.helps(at) {
		return nil, nil
	}
	return s, payload
}

// parts are how many of a message in place have been begun from its front, from its end, and
// not at all.
func (s *slot) parts() (front, back, left uint32) {
	front, back = halves(s.begun().Load())
	if all := partsOf(int(s.header.Len)); front+back < all {
		left = all - front - back
	}
	return front, back, left
}

func halves(begun uint64) (front, back uint32) { return uint32(begun), uint32(begun >> 32) }

// begin begins parts from the front, or from the end, unless somebody has begun others.
func (s *slot) begin(front, back, more, moreBack uint32) bool {
	old := uint64(back)<<32 | uint64(front)
	return s.begun().CompareAndSwap(old, old+uint64(moreBack)<<32+uint64(more))
}

// roomFor says whether the chunks have room for a part.
func (at *ends) roomFor(l *lane) bool {
	if at.helped-at.takenThere >= parts {
		at.takenThere = l.taken.Load()
	}
	return at.helped-at.takenThere < parts
}

// lay lays the message's next part into the chunks, which have room, unless the reader
// has begun it.
func (e *endpoint) lay(l *lane, at *ends, k uint32, s *slot, payload []byte) {
	next, back, left := s.parts()
	if left == 0 || !s.begin(next, back, 1, 0) {
		return
	}
	from := int(next) * part
	copy(l.laid(at.helped), payload[from:min(len(payload), from+part)])
	at.helped++
	at.own[k&(e.depth-1)]++
	e.set(l, &l.helped, at.helped)
}

// help lays parts of the messages that are held into the chunks until none is left
// that the reader has not begun. Messages that went this way as a whole are not held
// any more.
func (e *endpoint) help(l *lane, at *ends) error {
	holding := false
	if e.exchange.full || l.alone.Load() != 0 {
		return nil
	}
	for k := at.heldFrom; k != at.heldTo; k++ {
		if int32(l.done.Load()-(k+1)) >= 0 {
			continue
		}
		for s, payload := e.offer(l, at, k); s != nil; s, payload = e.offer(l, at, k) {
			if !at.roomFor(l) {
				// The reader takes what is there, or parts of its own.
				if err := e.await(at, l, &l.taken, at.helped-parts+1); err != nil {
					return err
				}
				continue
			}
			e.lay(l, at, k, s, payload)
		}
		if payload := at.held[k&(e.depth-1)]; payload != nil && at.own[k&(e.depth-1)] == partsOf(len(payload)) {
			at.held[k&(e.depth-1)] = nil
		}
		holding = holding || at.held[k&(e.depth-1)] != nil
	}
	at.holding = holding
	return nil
}

// layOthers lays a part for every rank that a long message is under way to, where there is
// room, and says whether it did: a rank that takes a message does so between two parts of
// it, so that two that send to each other need not read each other's memory.
func (e *endpoint) layOthers() bool {
	if e.exchange.full {
		return false
	}
	laid := false
	for i := 0; i < len(e.lending); i++ {
		to := e.lending[i]
		at := &e.lanes[to]
		l, more := at.out, false
		for k := at.lendFrom; k != at.heldTo && l.alone.Load() == 0; k++ {
			s, payload := e.offer(l, at, k)
			if s == nil {
				continue
			}
			at.lendFrom, more = k, true
			if at.roomFor(l) {
				e.lay(l, at, k, s, payload)
				laid = true
			}
			break
		}
		if !more {
			e.lending = append(e.lending[:i], e.lending[i+1:]...)
			i--
		}
	}
	return laid
}

// takeParts takes a message in place.
func (e *endpoint) takeParts(s *slot, l *lane, at *ends, sink *transport.Sink) error {
	n, pid := int(s.header.Len), int(at.peer.pid.Load())
	all, laid := partsOf(n), uint32(0)
	h := &at.habits[min(bits.Len32(all), len(at.habits)-1)][0]
	most := all
	if sink.Combine != nil {
		h = &at.habits[min(bits.Len32(all), len(at.habits)-1)][1]
		most = uint32(len(e.scratch) / part)
	}
	h.copies = sink.Combine == nil
	together, began := h.together() && !e.exchange.full, time.Now()
	// A writer that waits writes, which beats laying; of two that take from each other both
	// are at work as it is.
	pushed, expected := at.pushes && sink.Combine == nil && all > 1 && len(e.lending) == 0, at.expected != nil
	switch {
	case expected:
	case pushed:
		e.welcome(l, at, &s.header, sink.Into)
	}
	open := pushed || expected
	if together = together && !pushed; together {
		most = min(most, helpedMost)
	}
	for next := uint32(0); ; {
		looks := 0
		if together {
			looks = helpLooks
		}
		if e.layOthers() && together {
			looks = exchangeLooks
		}
		for ; looks > 0 && uint32(s.begun().Load()) == next; looks-- {
		}
		front, back, left := s.parts()
		if front == next && left == 0 {
			if back == 0 {
				break
			}
			if err := e.farewell(pid, s, l, at, back, sink); err != nil {
				return e.shut(l, at, open, err)
			}
			break
		}
		off := int(next) * part
		if front == next {
			take := min(most, left)
			if pushed {
				take = min(take, share(left))
			}
			if !s.begin(front, back, take, 0) {
				continue
			}
			next += take
			if err := e.read(pid, *s.address(), off, min(n, int(next)*part), sink); err != nil {
				return e.shut(l, at, open, err)
			}
			continue
		}
		if err := e.await(at, l, &l.helped, at.taken+1); err != nil {
			return e.shut(l, at, open, err)
		}
		deliver(sink, off, l.laid(at.taken)[:min(part, n-off)])
		next++
		laid++
		at.taken++
		e.set(l, &l.taken, at.taken)
	}
	wish := uint32(1)
	if !pushed && !e.exchange.full {
		h.learn(2*laid >= all, time.Since(began).Seconds())
		wish = h.wish()
	}
	if wish != l.alone.Load() {
		l.alone.Store(wish)
	}
	return nil
}

// read takes bytes [from, to) of a message from its writer's memory.
func (e *endpoint) read(pid int, address uint64, from, to int, sink *transport.Sink) error {
	if sink.Combine == nil {
		return readFrom(pid, sink.Into[from:to], address+uint64(from))
	}
	for from < to {
		into := e.scratch[:min(len(e.scratch), to-from)]
		if err := readFrom(pid, into, address+uint64(from)); err != nil {
			return err
		}
		sink.Combine(from, into)
		from += len(into)
	}
	return nil
}

// habit is what messages of some length took on a lane, by who moved most of their
// parts, and so which way is better between these two processors: where their caches
// are near each other, or the reader combines, together; where the lines of the chunks
// travel far, alone.
type habit struct {
	copies       bool    // nothing is combined
	alone, joint float64 // seconds; 0 before the first
	messages     uint32
}

// After again messages the other way is tried anew, with some of them: the first finds
// cold caches.
const (
	again     = 128
	againCopy = 1024 // of messages that are copied only: two that exchange them seldom gain
	tries     = 6
)

func (h *habit) together() bool {
	switch {
	case h.messages < tries:
		return false
	case h.messages < 2*tries:
		return true
	}
	after := uint32(again)
	if h.copies {
		after = againCopy
	}
	return (h.joint < h.alone && h.joint > 0) != (h.messages%after >= after-tries)
}

// learn takes in how long a message took. Times that somebody else's work made long
// count for little.
func (h *habit) learn(joint bool, took float64) {
	h.messages++
	of := &h.alone
	if joint {
		of = &h.joint
	}
	if *of == 0 || took < *of {
		*of = took
		return
	}
	*of += min(took-*of, *of) / 8
}

// wish is what the writer is told.
func (h *habit) wish() uint32 {
	if h.together() {
		return 0
	}
	return 1
}

// drop leaves a message in place out, and what was laid into the chunks of it.
func (e *endpoint) drop(s *slot, l *lane, at *ends) {
	if !s.claim.CompareAndSwap(offered, claimed) {
		return
	}
	laid := uint32(s.begun().Swap(1 << 30))
	if e.await(at, l, &l.helped, at.taken+laid) == nil {
		at.taken += laid
		e.set(l, &l.taken, at.taken)
	}
}
