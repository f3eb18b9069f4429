package collective

import (
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/collective/algorithm"
)

// progress is what the watch sees of the operation that runs: written by its
// goroutine, read by the watch's.
type progress struct {
	op      atomic.Uint32 // 1 + the operation's number, 0 between operations
	seq     atomic.Uint64
	since   atomic.Int64 // when it began, Unix nanoseconds
	rounds  atomic.Int64
	waiting atomic.Int64 // 1 + the rank that it waits for, 0 for none
	moves   atomic.Uint64
}

// sendRecv is the operation code of Send, Recv and groups of them.
const sendRecv = algorithm.Op(100)

func opName(op algorithm.Op) string {
	if op == sendRecv {
		return "SendRecv"
	}
	return op.String()
}

func (p *progress) begin(op algorithm.Op, seq uint64) time.Time {
	now := time.Now()
	p.seq.Store(seq)
	p.rounds.Store(0)
	p.since.Store(now.UnixNano())
	p.op.Store(1 + uint32(op))
	return now
}

func (p *progress) end() { p.op.Store(0) }

// on says which rank the operation waits for from now on.
func (p *progress) on(rank int) { p.waiting.Store(1 + int64(rank)) }

// moved says that the wait is over.
func (p *progress) moved() {
	p.moves.Add(1)
	p.waiting.Store(0)
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
	op := p.op.Load()
	if op == 0 {
		return s, false
	}
	return snapshot{
		op: opName(algorithm.Op(op - 1)), seq: p.seq.Load(), step: int(p.rounds.Load()), waiting: int(p.waiting.Load()) - 1,
		elapsed: time.Duration(now.UnixNano() - p.since.Load()), moves: p.moves.Load(),
	}, true
}
