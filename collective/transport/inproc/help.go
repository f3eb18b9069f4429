package inproc

import (
	"runtime"
	"sync/atomic"

	"github.com/volley-go/volley/internal/processors"
)

// A rank that moves many bytes offers them in parts, and whoever waits meanwhile takes
// some: the memory of all ranks is one, and one processor alone does not reach its
// bandwidth.
const (
	// sharedLeast is how many bytes are shared: for fewer the lines that go from one
	// processor to the other cost more than they bring.
	sharedLeast = 256 << 10
	// sleepersLeast is how many bytes a rank that sleeps is woken for.
	sleepersLeast = 1 << 20
	// Of a message that passes through the caches a part is an eighth, within bounds.
	partLeast = 32 << 10
	partMost  = 256 << 10
	// Copies of a mebibyte and more bypass the caches, so of long messages such parts are
	// copied.
	longLeast = 8 << 20
	longPart  = 1 << 20
)

// job is what a rank shares: one at a time.
type job struct {
	inside atomic.Int32 // who takes parts: the rank itself and helpers; 0 where nothing is shared
	next   atomic.Int64 // the first byte that nobody has begun
	// Constant while anybody is inside.
	length, part int64
	do           func(from, to int)
	_            [64]byte
}

// board is the jobs of all ranks of a world.
type board struct {
	open       atomic.Int32 // jobs that have parts left, about
	asleep     atomic.Int32 // ranks that sleep and would help
	_          [56]byte
	jobs       []job // by rank
	calls      chan struct{}
	processors int
}

func newBoard(n int) *board {
	return &board{jobs: make([]job, n), calls: make(chan struct{}, n), processors: processors.Count()}
}

// wanted says whether there are jobs and processors that have none.
func (b *board) wanted() bool {
	n := b.open.Load()
	return n > 0 && int(n) < b.processors
}

// share does all parts of a rank's work, some of them by ranks that wait. It returns when
// all are done.
func (b *board) share(rank int, length, part int64, do func(from, to int)) {
	j := &b.jobs[rank]
	j.length, j.part, j.do = length, part, do
	j.next.Store(0)
	j.inside.Store(1)
	if open := int(b.open.Add(1)); length >= sleepersLeast {
		for range min(int(b.asleep.Load()), b.processors-open) {
			select {
			case b.calls <- struct{}{}:
			default:
			}
		}
	}
	for j.take(0) {
	}
	b.open.Add(-1)
	for j.inside.Add(-1); j.inside.Load() > 0; {
		runtime.Gosched() // a part that another rank is at, which ends by itself
	}
	j.do = nil
}

// take does the next part, and says whether there was one with so many bytes behind it.
func (j *job) take(behind int64) bool {
	if j.next.Load() >= j.length-behind {
		return false
	}
	from := j.next.Add(j.part) - j.part
	if from >= j.length {
		return false
	}
	j.do(int(from), int(min(from+j.part, j.length)))
	return true
}

// enter makes a helper one of those inside, unless the job is over.
func (j *job) enter() bool {
	for {
		n := j.inside.Load()
		if n == 0 {
			return false
		}
		if j.inside.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// help takes parts of other ranks' work until there are none or state is the wanted one. The
// last part is left to its owner: who helps there does so for longer than the owner is at
// work, and what it waits for itself waits.
func (b *board) help(state *atomic.Uint32, want uint32) {
	for i := range b.jobs {
		j := &b.jobs[i]
		if !j.enter() {
			continue
		}
		for state.Load() != want && b.wanted() && j.take(j.part) {
		}
		j.inside.Add(-1)
	}
}

// partOf is the length of the parts of n bytes.
func partOf(n int64, copied bool) int64 {
	if copied && n >= longLeast {
		return longPart
	}
	return min(partMost, max(partLeast, n/8&^63))
}

// Share does do over parts of n bytes, multiples of 64 but for the last, on this rank and on
// others that wait for something: several at once, each part once. copied says that do
// copies.
func (e *endpoint) Share(n int, copied bool, do func(from, to int)) {
	if n < sharedLeast || len(e.w.lanes) == 1 {
		do(0, n)
		return
	}
	e.w.board.share(e.rank, int64(n), partOf(int64(n), copied), do)
}
