package shm

import (
	"math/bits"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// A long message is taken in parts, in order, and two ranks can work on it: the reader
// reads parts from the writer's memory, and a writer that has nothing to do but wait
// lays parts into the lane's chunks, from where the reader takes them. Whoever counts
// slot.next on has those parts. A part in the chunks costs two copies, but one of them
// is made by a processor that was idle, and the other costs no call of the system.
const (
	part  = 32 << 10
	parts = chunks * chunk / part // in the chunks at a time
	// A reader looks so often whether the writer comes to help.
	helpLooks = 300
)

// partsOf is how many parts a message of n bytes has.
func partsOf(n int) uint32 { return uint32((n + part - 1) / part) }

// laid is where part number k lies in the chunks.
func (l *lane) laid(k uint32) []byte {
	at := k % parts * part
	return l.data[at/chunk][at%chunk : at%chunk+part]
}

// help lays parts of the messages that are held into the chunks until none is left
// that the reader has not begun. Messages that went this way as a whole are not held
// any more.
func (e *endpoint) help(l *lane, at *ends) error {
	holding := false
	if l.alone.Load() != 0 {
		return nil
	}
	for k := at.heldTo - min(depth, at.heldTo); k != at.heldTo; k++ {
		payload := at.held[k%depth]
		s := &l.slots[k%depth]
		if payload == nil || s.manner != inPlace || s.lent == 0 || int32(l.done.Load()-(k+1)) >= 0 {
			holding = holding || payload != nil
			continue
		}
		all, own := partsOf(len(payload)), uint32(0)
		for {
			if at.helped-l.taken.Load() >= parts {
				// No room: the reader takes what is there, or parts of its own.
				if err := e.await(l, &l.taken, at.helped-parts+1); err != nil {
					return err
				}
			}
			next := s.next.Load()
			if next >= all {
				break
			}
			if !s.next.CompareAndSwap(next, next+1) {
				continue
			}
			from := int(next) * part
			copy(l.laid(at.helped), payload[from:min(len(payload), from+part)])
			at.helped++
			own++
			e.set(l, &l.helped, at.helped)
		}
		if own == all {
			at.held[k%depth] = nil
		} else {
			holding = true
		}
	}
	at.holding = holding
	return nil
}

// takeParts takes a message in place.
func (e *endpoint) takeParts(pid int, s *slot, l *lane, at *ends, sink *transport.Sink) error {
	n := int(s.header.Len)
	all, laid := partsOf(n), uint32(0)
	h := &at.habits[min(bits.Len32(all), len(at.habits)-1)][0]
	most := all
	if sink.Combine != nil {
		h = &at.habits[min(bits.Len32(all), len(at.habits)-1)][1]
		most = uint32(len(e.scratch) / part)
	}
	looks := 0
	var began time.Time
	if s.lent != 0 {
		began = time.Now()
		if h.together() {
			looks = helpLooks
		} else {
			most = all
		}
	}
	for next := uint32(0); next < all; {
		off := int(next) * part
		take := min(most, all-next)
		if !seen(&s.next, next+1, looks) && s.next.CompareAndSwap(next, next+take) {
			next += take
			if err := e.read(pid, *s.address(), off, min(n, int(next)*part), sink); err != nil {
				return err
			}
			continue
		}
		if err := e.await(l, &l.helped, at.taken+1); err != nil {
			return err
		}
		deliver(sink, off, l.laid(at.taken)[:min(part, n-off)])
		next++
		laid++
		at.taken++
		e.set(l, &l.taken, at.taken)
	}
	if s.lent != 0 {
		h.learn(2*laid >= all, time.Since(began).Seconds())
		if wish := h.wish(); wish != l.alone.Load() {
			l.alone.Store(wish)
		}
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
	alone, joint float64 // seconds; 0 before the first
	messages     uint32
}

// After again messages the other way is tried anew, with some of them: the first finds
// cold caches.
const (
	again = 128
	tries = 6
)

func (h *habit) together() bool {
	switch {
	case h.messages < tries:
		return false
	case h.messages < 2*tries:
		return true
	}
	return (h.joint < h.alone && h.joint > 0) != (h.messages%again >= again-tries)
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
	laid := s.next.Swap(1 << 30)
	if e.await(l, &l.helped, at.taken+laid) == nil {
		at.taken += laid
		e.set(l, &l.taken, at.taken)
	}
}
