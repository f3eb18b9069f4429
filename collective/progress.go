package collective

import (
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/internal/release"
)

// progress is what the watch sees of the operation that runs: written by its
// goroutine, read by the watch's. What changes with every message is one word, since
// a short operation costs little more than its stores.
type progress struct {
	words [3]atomic.Uint64 // by the numbers below
	calls recentCalls
	pair  [2]atomic.Uint64 // the transfer that a group is at: type and way, elements

	// The operation's goroutine's own.
	op     uint64 // 1 + the operation's number, with the mark of one that is watched
	rounds uint64
	moves  uint64
	first  uint64 // 1 + the rank that begin named, until the first message
}

// The words: the operation's number; when it began, nanoseconds after start, 0 where
// nobody asked the time; and last the one that says that it runs.
const (
	inSeq = iota
	inSince
	inState
)

// The state has, from the top: whether a context is watched (1 bit); 1 + the operation's
// number (7), 0 between operations; 1 + the rank that it waits for (16), 0 for none; the
// rounds done (20); how often it has moved (20), so that two looks see whether it did.
const (
	opShift, waitingShift, roundsShift = 56, 40, 20
	countMask                          = 1<<20 - 1
	watchedMark                        = 1 << 7 // of op
)

func (p *progress) state(waiting uint64) uint64 {
	p.moves++
	return p.op<<opShift | waiting<<waitingShift | p.rounds&countMask<<roundsShift | p.moves&countMask
}

func (p *progress) store(waiting uint64) { release.Store64(&p.words[inState], p.state(waiting)) }

// waiting is the rank that the operation waits for, -1 for none.
func (p *progress) waiting() int { return int(p.words[inState].Load()>>waitingShift&0xffff) - 1 }

// watched says whether an operation runs whose context is watched.
func (p *progress) watched() bool { return p.words[inState].Load()>>opShift&watchedMark != 0 }

// seq is the latest operation's number.
func (p *progress) seq() uint64 { return p.words[inSeq].Load() }

// since is when it began.
func (p *progress) since() time.Duration { return time.Duration(p.words[inSince].Load()) }

// sendRecv is the operation code of Send, Recv and groups of them.
const sendRecv = algorithm.Op(100)

func opName(op algorithm.Op) string {
	switch op {
	case sendRecv:
		return "SendRecv"
	case grouping:
		return "Sub"
	}
	return op.String()
}

// begin is told the rank that the operation turns to first, -1 for none, whether its
// context is watched, and the time, after start, or 0: then the operation began, as far
// as anybody is told, when it was looked at first.
func (p *progress) begin(op algorithm.Op, seq uint64, first int, watched bool, now time.Duration) {
	p.op, p.rounds, p.first = 1+uint64(op), 0, uint64(1+first)
	if watched {
		p.op |= watchedMark
	}
	release.StoreThree(&p.words, seq, uint64(now), p.state(p.first))
}

func (p *progress) end() { release.Store64(&p.words[inState], 0) }

// on says which rank the operation waits for from now on.
func (p *progress) on(rank int) {
	first := p.first
	p.first = 0
	if first != 1+uint64(rank) {
		p.store(1 + uint64(rank))
	}
}

// transfer says at which transfer a group is. It comes before on.
func (p *progress) transfer(t Transfer) {
	how := uint64(t.Data.typ) << 1
	if t.Recv {
		how |= 1
	}
	release.Store64(&p.pair[0], how)
	release.Store64(&p.pair[1], uint64(t.Data.Len()))
}

// moved says that the wait is over.
func (p *progress) moved() { p.store(0) }

// round says that it is over and a round is done.
func (p *progress) round() {
	p.rounds++
	p.store(0)
}

// snapshot is the operation that runs; ok is false where there is none.
type snapshot struct {
	op      string
	seq     uint64
	step    int
	waiting int // -1 for none
	elapsed time.Duration
	moves   uint64
}

func (p *progress) look(now time.Time) (s snapshot, ok bool) {
	w := p.words[inState].Load()
	op := w >> opShift &^ watchedMark
	if op == 0 {
		return s, false
	}
	since := &p.words[inSince]
	began, at := since.Load(), uint64(max(1, now.Sub(start)))
	if began == 0 && !since.CompareAndSwap(0, at) {
		began = since.Load()
	} else if began == 0 {
		began = at
	}
	return snapshot{
		op: opName(algorithm.Op(op - 1)), seq: p.seq(), step: int(w >> roundsShift & countMask), waiting: int(w>>waitingShift&0xffff) - 1,
		elapsed: now.Sub(start) - time.Duration(began), moves: w & countMask,
	}, true
}
