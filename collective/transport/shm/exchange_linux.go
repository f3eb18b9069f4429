package shm

import "time"

// Where all ranks send to each other at the same time, each is at work with its own copies and reads, so
// what a message takes at its reader says little about what it costs: the ring has lines that two processors
// write at the same time, and ranks that share a processor must wait for each other where messages are read in
// place. So exchanges are timed as a whole, some at a time. All ranks try the two ways at the same
// exchanges, and between these go by what rank 0 finds.
const (
	exchangeBlock = 8   // exchanges that are timed together
	ringTries     = 2   // blocks of the first trial of the ring,
	directTries   = 6   // and of reading, in whose first ones memory may get huge pages
	ringGain      = 0.9 // of what reading takes, if the ring is to be taken
	exchangeAgain = 32  // blocks after which the other way is tried anew, with one
	// Bytes of the longest message that goes through the ring without a choice where ranks share processors.
	crowdAlways = ringAlways
)

// The ways of a message.
const (
	byLength   = iota // what its length and its reader's wish say
	directly          // read in place
	roundabout        // through the ring
)

// exchange is the exchange that is under way, and what others took.
type exchange struct {
	open  bool // all ranks can read each other's memory
	way   uint8
	full  bool // all processors are at work with it, so that help from who waits is at another rank's cost
	class int
	began time.Time
	past  [routes]exchanges
}

// exchanges are those of a class of lengths.
type exchanges struct {
	route         // blocks
	count  uint32 // exchanges
	block  time.Duration
	latest uint8 // the way of the block
}

// Exchange chooses the way.
func (e *endpoint) Exchange(n int) (flush bool) {
	x := &e.exchange
	x.way, x.class = byLength, classOf(n)
	x.full = e.crowded && x.open && n > crowdAlways
	if !x.open || x.class < 0 || e.crowded && !x.full {
		return false
	}
	past := &x.past[x.class]
	if past.count%exchangeBlock == 0 {
		past.latest, past.block = past.next(e.seg.rank(0).rings.Load()>>x.class&1 != 0), 0
	}
	past.count++
	x.way, x.began = past.latest, time.Now()
	return x.way == directly
}

// next is the way of the next block.
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

// Exchanged takes in how long it took.
func (e *endpoint) Exchanged() {
	x := &e.exchange
	x.full = false
	if x.way == byLength {
		return
	}
	past := &x.past[x.class]
	past.block += time.Since(x.began)
	x.way = byLength
	if past.count%exchangeBlock != 0 || e.rank != 0 {
		return
	}
	past.learn(past.latest == roundabout, past.block)
	told := e.seg.rank(0).rings.Load()
	wish := told &^ (1 << x.class)
	if past.ring > 0 && past.ring < past.place*ringGain {
		wish |= 1 << x.class
	}
	if wish != told {
		e.seg.rank(0).rings.Store(wish)
	}
}

// rings says whether a message of n bytes goes through the ring.
func (e *endpoint) rings(to int, l *lane, n int) bool {
	switch e.exchange.way {
	case directly:
		return n <= ringAlways
	case roundabout:
		return n <= longest
	}
	return n <= e.medium || e.ringed(l, n) || e.unread(to, n)
}

// arrivesInRing says whether a message of n bytes will come through the ring, as far as can be told.
func (e *endpoint) arrivesInRing(at *ends, n int) bool {
	switch e.exchange.way {
	case directly:
		return n <= ringAlways
	case roundabout:
		return true
	}
	return n <= e.medium || e.ringed(at.in, n)
}
