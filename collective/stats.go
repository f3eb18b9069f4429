package collective

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/internal/release"
)

// Stats are counts of what Comms did.
type Stats struct {
	Operations     []OperationStats // those that were called, by operation and algorithm
	Sent, Received Traffic
	Faults         map[Cause]uint64
	Stalls         uint64 // operations that waited for longer than Options.Stall
}

// OperationStats are the calls of one operation that used one algorithm.
type OperationStats struct {
	Op        string // "SendRecv" for Send, Recv and Exchange
	Algorithm string // "" where a call ended before it had one, and for SendRecv
	Calls     uint64
	Failed    uint64 // of Calls
	// Time is that of all Calls, without their wait for earlier operations. Of calls in a row
	// that are the same and take less than 2 µs one in 16 stands for the others.
	Time time.Duration
}

// Traffic is messages of the lanes; the bytes are those of vectors.
type Traffic struct{ Messages, Bytes uint64 }

func (t *Traffic) add(bytes int64) {
	t.Messages++
	t.Bytes += uint64(bytes)
}

func (t *Traffic) plus(o Traffic) {
	t.Messages += o.Messages
	t.Bytes += o.Bytes
}

// tally is what the operation that has the turn did so far: the words of an
// operationCount.
type tally struct {
	calls, failed, nanos uint64
	sent, received       Traffic
	_                    uint64
}

// operationKey is what calls are counted by.
type operationKey struct {
	op        algorithm.Op
	algorithm uint8
}

// counts are a Comm's. The words are written by the operation that has the turn, and
// read by anybody; the Comm's mu guards the map and what is not a word.
type counts struct {
	last       *operationCount // of lastKey: programs repeat their calls
	lastKey    operationKey
	operations map[operationKey]*operationCount
	faults     map[Cause]uint64
	stalls     uint64
}

// operationCount has the words of a tally.
type operationCount [8]atomic.Uint64

// The words of an operationCount.
const (
	inCalls = iota
	inFailed
	inNanos
	inSent     // messages, and bytes behind them
	inReceived = inSent + 2
)

func (o *operationCount) traffic(at int) Traffic { return Traffic{o[at].Load(), o[at+1].Load()} }

// count is what the operation that has the turn counts in.
func (c *Comm) count(key operationKey) *operationCount {
	t := &c.stats
	if t.last != nil && t.lastKey == key {
		return t.last
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := t.operations[key]
	if s == nil {
		if t.operations == nil {
			t.operations = map[operationKey]*operationCount{}
		}
		s = &operationCount{}
		t.operations[key] = s
	}
	t.last, t.lastKey = s, key
	return s
}

// tallies are the sums of a Comm, or of all of a transport.
type tallies struct {
	operations     map[operationKey]*OperationStats
	sent, received Traffic
	faults         map[Cause]uint64
	stalls         uint64
}

func (t *tallies) of(key operationKey) *OperationStats {
	s := t.operations[key]
	if s == nil {
		if t.operations == nil {
			t.operations = map[operationKey]*OperationStats{}
		}
		s = &OperationStats{Op: opName(key.op), Algorithm: algorithmName(key.algorithm)}
		t.operations[key] = s
	}
	return s
}

// account counts the operation that has the turn, at its end; began is after start.
func (c *Comm) account(op algorithm.Op, began time.Duration, err error) {
	key := operationKey{op: op}
	if op != sendRecv {
		key.algorithm = c.mover.header.Call.Algorithm
	}
	t := &c.tally
	t.calls, t.nanos = 1, uint64(c.duration(began))
	if err != nil {
		t.failed = 1
	}
	release.AddEach((*[8]atomic.Uint64)(c.count(key)), (*[8]uint64)(unsafe.Pointer(t)))
	*t = tally{}
	if c.track != nil {
		c.traceOp(op, c.track.At(start.Add(began)), err)
	}
}

// faulted counts the Comm's Fault.
func (c *Comm) faulted(cause Cause) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stats.faults == nil {
		c.stats.faults = map[Cause]uint64{}
	}
	c.stats.faults[cause]++
}

// waited counts a stall.
func (c *Comm) waited() {
	c.mu.Lock()
	c.stats.stalls++
	c.mu.Unlock()
}

// load are a Comm's counts as sums; its mu is held.
func (o *counts) load() *tallies {
	t := &tallies{faults: o.faults, stalls: o.stalls}
	for key, s := range o.operations {
		sum := t.of(key)
		sum.Calls, sum.Failed, sum.Time = s[inCalls].Load(), s[inFailed].Load(), time.Duration(s[inNanos].Load())
		t.sent.plus(s.traffic(inSent))
		t.received.plus(s.traffic(inReceived))
	}
	return t
}

func (t *tallies) plus(o *tallies) {
	for key, s := range o.operations {
		sum := t.of(key)
		sum.Calls += s.Calls
		sum.Failed += s.Failed
		sum.Time += s.Time
	}
	t.sent.plus(o.sent)
	t.received.plus(o.received)
	for cause, n := range o.faults {
		if t.faults == nil {
			t.faults = map[Cause]uint64{}
		}
		t.faults[cause] += n
	}
	t.stalls += o.stalls
}

// Stats are the Comm's counts until now.
func (c *Comm) Stats() Stats {
	var t tallies
	c.mu.Lock()
	t.plus(c.stats.load())
	c.mu.Unlock()
	return t.stats()
}

func (t *tallies) stats() Stats {
	s := Stats{Sent: t.sent, Received: t.received, Faults: t.faults, Stalls: t.stalls}
	keys := slices.SortedFunc(maps.Keys(t.operations), func(a, b operationKey) int {
		return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(a.algorithm, b.algorithm))
	})
	for _, key := range keys {
		s.Operations = append(s.Operations, *t.operations[key])
	}
	return s
}

// process are the Comms of this process: those that are open, and the sums of those
// that were closed, by transport.
var process = struct {
	sync.Mutex
	open   map[*Comm]bool
	closed map[string]*tallies
}{open: map[*Comm]bool{}, closed: map[string]*tallies{}}

func enter(c *Comm) {
	process.Lock()
	process.open[c] = true
	process.Unlock()
}

func leave(c *Comm) {
	process.Lock()
	defer process.Unlock()
	delete(process.open, c)
	sum := process.closed[c.Transport()]
	if sum == nil {
		sum = &tallies{}
		process.closed[c.Transport()] = sum
	}
	c.mu.Lock()
	sum.plus(c.stats.load())
	c.mu.Unlock()
}

// Totals are the counts of all Comms that this process has or had, by transport. What
// a Comm does after it was closed is not counted.
func Totals() map[string]Stats {
	process.Lock()
	defer process.Unlock()
	sums := map[string]*tallies{}
	add := func(name string, t *tallies) {
		if sums[name] == nil {
			sums[name] = &tallies{}
		}
		sums[name].plus(t)
	}
	for name, t := range process.closed {
		add(name, t)
	}
	for c := range process.open {
		c.mu.Lock()
		add(c.Transport(), c.stats.load())
		c.mu.Unlock()
	}
	all := map[string]Stats{}
	for name, t := range sums {
		all[name] = t.stats()
	}
	return all
}
