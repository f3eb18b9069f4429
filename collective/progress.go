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
	word  atomic.Uint64 // see pack
	seq   atomic.Uint64
	since atomic.Uint64 // when it began, nanoseconds after start; 0 where nobody asked the time

	// The operation's goroutine's own.
	op     uint64 // 1 + the operation's number
	rounds uint64
	moves  uint64
}

// The word has, from the top: 1 + the operation's number (8 bits), 0 between
// operations; 1 + the rank that it waits for (16), 0 for none; the rounds done (20);
// how often it has moved (20), so that two looks see whether it did.
const (
	opShift, waitingShift, roundsShift = 56, 40, 20
	countMask                          = 1<<20 - 1
)

func (p *progress) store(waiting uint64) {
	p.moves++
	release.Store64(&p.word, p.op<<opShift|waiting<<waitingShift|p.rounds&countMask<<roundsShift|p.moves&countMask)
}

// waiting is the rank that the operation waits for, -1 for none.
func (p *progress) waiting() int { return int(p.word.Load()>>waitingShift&0xffff) - 1 }

// sendRecv is the operation code of Send, Recv and groups of them.
const sendRecv = algorithm.Op(100)

func opName(op algorithm.Op) string {
	if op == sendRecv {
		return "SendRecv"
	}
	return op.String()
}

// begin is told the time, after start, or 0: then the operation began, as far as anybody
// is told, when it was looked at first.
func (p *progress) begin(op algorithm.Op, seq uint64, now time.Duration) {
	release.Store64(&p.seq, seq)
	release.Store64(&p.since, uint64(now))
	p.op, p.rounds = 1+uint64(op), 0
	p.store(0)
}

func (p *progress) end() { release.Store64(&p.word, 0) }

// on says which rank the operation waits for from now on.
func (p *progress) on(rank int) { p.store(1 + uint64(rank)) }

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
	w := p.word.Load()
	op := w >> opShift
	if op == 0 {
		return s, false
	}
	began, at := p.since.Load(), uint64(max(1, now.Sub(start)))
	if began == 0 && !p.since.CompareAndSwap(0, at) {
		began = p.since.Load()
	} else if began == 0 {
		began = at
	}
	return snapshot{
		op: opName(algorithm.Op(op - 1)), seq: p.seq.Load(), step: int(w >> roundsShift & countMask), waiting: int(w>>waitingShift&0xffff) - 1,
		elapsed: now.Sub(start) - time.Duration(began), moves: w & countMask,
	}, true
}
