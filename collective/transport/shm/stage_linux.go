package shm

import (
	"math"

	"github.com/klauspost/cpuid/v2"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/internal/pastcopy"
)

// Results that lie apart from the vectors, and with them are more than the caches hold, are not written by others: the system
// does that with stores that first read each line from memory, and a page at a time. Each rank shows what its block comes to in
// the segment, a round at a time, and takes what others show with stores past the caches.
//
// A rank shows a round, then takes that round of all others. Who shows round k has taken round k-1 of all, so when a rank
// has taken round k of all others none of them is at its round k-1 any more, and round k+1 may take the place of that: also where
// they are of two calls. No rank waits for another to have taken anything.
const (
	stageRound = 4 * mergeStep
	stageMost  = 32 << 20 // what is taken for the largest cache where the processor does not say
)

const _ uint = room - 2*stageRound // two rounds are in the ring of a rank's lane to itself, which has no messages

// stageFrom is how many bytes vectors and results have together of which results are taken: more than the caches hold.
func stageFrom() int {
	if !pastcopy.Past() {
		return math.MaxInt
	}
	if l3 := cpuid.CPU.Cache.L3; l3 > 0 {
		return l3
	}
	return stageMost
}

// mayStage says whether this rank's result may be taken.
func (e *endpoint) mayStage(m *transport.Merge) bool {
	return addressOf(m.In) != addressOf(m.Out) && 2*e.seg.n*len(m.In) >= e.stageFrom
}

// stages says whether this rank had rather take its result than have it written, which is done where all say so.
func (e *endpoint) stages(m *transport.Merge) bool {
	return e.mayStage(m) && (e.stageFrom == 0 || e.results.taken()) && e.stageRoom()
}

// results is which way results are quicker. Four ranks of a Zen 3 take theirs in four fifths of the time in which they are written, two of a
// Zen 4 in twice as long. All ranks try both at the same calls; where they differ in the end, results are written.
type results struct {
	calls uint32
	least [2]float64 // of the last tries, seconds a byte: written, and taken
}

const (
	resultsCold  = 8 // calls that do not count: memory comes into huge pages in them
	resultsTries = 4 // of each way
	resultsAgain = 256
)

// tries says which way is to be tried, written first, and whether any is.
func (r *results) tries() (taken, trying bool) {
	n := r.calls % resultsAgain
	if r.calls < resultsAgain {
		if n < resultsCold {
			return false, false
		}
		n -= resultsCold
	}
	return n >= resultsTries, n < 2*resultsTries
}

func (r *results) taken() bool {
	taken, trying := r.tries()
	if trying || r.calls < resultsCold {
		return taken
	}
	return r.least[1] > 0 && r.least[1] < r.least[0]
}

// learn takes in what a call took, a byte.
func (r *results) learn(taken bool, took float64) {
	tried, trying := r.tries()
	r.calls++
	if !trying || tried != taken {
		return
	}
	way := &r.least[0]
	if taken {
		way = &r.least[1]
	}
	if n := (r.calls - 1) % resultsAgain; r.calls > resultsAgain && n%resultsTries == 0 || *way == 0 || took < *way {
		*way = took
	}
}

// mergeStaged combines the own block and takes all others' from where they show them.
func (e *endpoint) mergeStaged(m *transport.Merge) error {
	n, size := len(m.In), e.seg.n
	last, _ := e.mergeBlock(n, size-1) // no block is longer than the last rank's
	rounds := (n - last + stageRound - 1) / stageRound
	own := e.seg.lane(e.rank, e.rank)
	for k := range rounds {
		half := int(e.rounds%2) * stageRound
		begin, end := e.stageBlock(n, e.rank, k)
		for from := begin; from < end; from += mergeStep {
			to := min(end, from+mergeStep)
			if err := e.mergeParts(m, own.ring[half+from-begin:half+to-begin], from, to); err != nil {
				return err
			}
		}
		if k == rounds-1 {
			if err := e.giveBack(m); err != nil {
				return err
			}
			if m.Combining != nil {
				m.Combining(false)
			}
		}
		e.rounds++
		e.set(own, &own.staged, e.rounds)
		pastcopy.Copy(m.Out[begin:end], own.ring[half:])
		for i := 1; i < size; i++ {
			r := (e.rank + i) % size
			l := e.seg.lane(r, r)
			m.On(r)
			if err := e.await(&e.lanes[r], l, &l.staged, e.rounds); err != nil {
				return err
			}
			begin, end := e.stageBlock(n, r, k)
			pastcopy.Copy(m.Out[begin:end], l.ring[half:])
		}
	}
	pastcopy.Fence()
	return e.givenBack(m)
}

// stageBlock is where round k of rank r's block of n bytes lies.
func (e *endpoint) stageBlock(n, r, k int) (from, to int) {
	from, end := e.mergeBlock(n, r)
	from = min(end, from+k*stageRound)
	return from, min(end, from+stageRound)
}

// giveBack gives all other ranks their vectors back, after it has seen that what was read of them was theirs.
func (e *endpoint) giveBack(m *transport.Merge) error {
	if err := e.tookAll(m); err != nil {
		return err
	}
	for r := range e.lanes {
		if at := &e.lanes[r]; r != e.rank {
			at.unmerged = 0
			at.read++
			e.set(at.in, &at.in.done, at.read)
		}
	}
	return nil
}
