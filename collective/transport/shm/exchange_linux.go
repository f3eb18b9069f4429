package shm

import "time"

// Where all ranks send to each other at the same time, each is at work with copies and reads of its own, so what
// a message takes at its reader says little about what it costs: lines of the ring are written and read
// by two processors at once, and ranks that share one must wait for each other where they read in place.
// So exchanges are timed as a whole, some together. All ranks try the two ways at the same
// exchanges, and between these go by what rank 0 finds: nothing but time depends on their being agreed.
const (
	exchangeBlock = 8  // exchanges that are timed together
	ringTries     = 2  // blocks of the first trial of the ring,
	directTries   = 6  // and of reading, in whose first ones memory comes into huge pages
	exchangeAgain = 32 // blocks after which the other way is tried anew, with one
	// The ring is taken where it takes less than this part of reading: it also leaves work to who reads later.
	ringGain = 0.9
	// Bytes of the longest message that goes through the ring without a choice where ranks share processors.
	crowdAlways = 16 << 10
)

// The ways of messages.
const (
	byLength   uint8 = iota // what the length and the reader's wish say
	directly                // read in place
	roundabout              // through the ring
)

// exchange is the exchange that is under way, and what earlier ones took.
type exchange struct {
	open  bool // all ranks can read each other's memory
	way   uint8
	full  bool // ranks share processors: who waits and helped would take its time from another rank
	class int
	began time.Time
	past  [routes]exchanges
}

// exchanges are those of a class of lengths.
type exchanges struct {
	route               // what blocks took; rank 0's is what counts
	count uint32        // exchanges that have begun
	way   uint8         // of the block that is under way
	block time.Duration // what it took until now
}

// Exchange chooses the way.
func (e *endpoint) Exchange(n int) (flush bool) {
	x := &e.exchange
	x.class = classOf(n)
	x.way, x.full = byLength, x.open && e.crowded && n > crowdAlways
	if !x.open || x.class < 0 || e.crowded && !x.full {
		return false
	}
	past := &x.past[x.class]
	if past.count%exchangeBlock == 0 {
		past.way, past.block = past.next(e.seg.rank(0).rings.Load()>>x.class&1 != 0), 0
	}
	past.count++
	x.way, x.began = past.way, time.Now()
	return x.way == directly
}

// next is the way of the block that begins, where rank 0 wishes for the ring or not.
func (x *exchanges) next(ring bool) uint8 {
	switch block := x.count / exchangeBlock; {
	case block < ringTries:
		ring = true
	case block < ringTries+directTries:
		ring = false
	case block%exchangeAgain == exchangeAgain-1:
		ring = !ring
	}
	if ring {
		return roundabout
	}
	return directly
}

// Exchanged takes in what the exchange took.
func (e *endpoint) Exchanged() {
	x := &e.exchange
	timed := x.way != byLength
	x.way, x.full = byLength, false
	if !timed {
		return
	}
	past := &x.past[x.class]
	past.block += time.Since(x.began)
	if e.rank != 0 || past.count%exchangeBlock != 0 {
		return
	}
	past.learn(past.way == roundabout, past.block)
	told := e.seg.rank(0).rings.Load()
	wish := told &^ (1 << x.class)
	if past.ring > 0 && past.ring < ringGain*past.place {
		wish |= 1 << x.class
	}
	if wish != told {
		e.seg.rank(0).rings.Store(wish)
	}
}

// rings says whether a message of n bytes to a rank goes through the ring.
func (e *endpoint) rings(to int, l *lane, n int) bool {
	switch e.exchange.way {
	case directly:
		return n <= ringAlways
	case roundabout:
		return n <= longest
	}
	return n <= e.medium || e.ringed(l, n) || e.unread(to, n)
}

// ringsHere says whether a message of n bytes will come through the ring, as far as its reader can tell.
func (e *endpoint) ringsHere(at *ends, n int) bool {
	switch e.exchange.way {
	case directly:
		return n <= ringAlways
	case roundabout:
		return n <= longest
	}
	return n <= e.medium || e.ringed(at.in, n)
}
