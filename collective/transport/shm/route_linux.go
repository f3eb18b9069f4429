package shm

import (
	"math/bits"
	"time"
)

// A message of middle length goes through the ring or is read in place, by what its reader finds
// faster: two copies and lines that change hands, or one copy and a call of the system. Which it is
// depends on whether the two processors share a cache, and changes when a host moves
// them, so it is measured all the time: the reader times what it takes, tries the other way now and
// then, and tells the writer by a bit for each class of lengths.
const (
	routes     = 5    // classes: up to 16, 32, 64, 128 and 256 KiB
	routeTries = 8    // messages of the first trial of each way,
	routeRetry = 4    // and of a later one,
	routeAgain = 1024 // after so many
)

// route is what messages of a class took, in nanoseconds; 0 before the first.
type route struct {
	ring, place float64
	messages    uint32
}

// classOf is the class of a message's length, at most longest; -1 where there is no choice.
func classOf(n int) int {
	if n <= ringAlways || n > longest {
		return -1
	}
	return bits.Len(uint(n-1)/ringAlways) - 1
}

// learn takes in what a message took. What somebody else's work made long counts for little.
func (r *route) learn(ring bool, took time.Duration) {
	r.messages++
	of, t := &r.place, float64(took)
	if ring {
		of = &r.ring
	}
	if *of == 0 || t < *of {
		*of = t
		return
	}
	*of += min(t-*of, *of) / 8
}

// throughRing says which way the next message had best go.
func (r *route) throughRing() bool {
	switch {
	case r.messages < routeTries:
		return false
	case r.messages < 2*routeTries:
		return true
	}
	return (r.ring > 0 && r.ring < r.place || r.place == 0) != (r.messages%routeAgain >= routeAgain-routeRetry)
}

// took notes at the reader what a message of n bytes took, and tells the writer.
func (at *ends) took(l *lane, n int, ring bool, took time.Duration) {
	class := classOf(n)
	if class < 0 {
		return
	}
	r := &at.routes[class]
	r.learn(ring, took)
	told := l.ringed.Load()
	wish := told &^ (1 << class)
	if r.throughRing() {
		wish |= 1 << class
	}
	if wish != told {
		l.ringed.Store(wish)
	}
}

// ringed says whether the reader of a lane would have a message of n bytes through the ring.
func (e *endpoint) ringed(l *lane, n int) bool {
	class := classOf(n)
	return e.adapts && class >= 0 && l.ringed.Load()>>class&1 != 0
}

// unread says whether a message goes through the ring since its reader may not read it in place,
// where it is too short to be worth a pump.
func (e *endpoint) unread(to, n int) bool {
	return n <= 2*ringAlways && e.seg.rank(to).noread.Load() != 0
}
