package timeline

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// Phase is what an operation does at a moment.
type Phase uint8

// The phases.
const (
	Wait   Phase = iota // for another rank's message
	Copy                // bytes to where they belong
	Reduce              // two operands are combined
	Send                // a message is handed over, or its memory waited for
)

var phaseNames = [...]string{"wait", "copy", "reduce", "send"}

// String is the phase's name in the trace.
func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return "Phase?"
}

// held is how many records are kept in memory before they are written.
const held = 4096

// Recorder is one rank's trace. Several communicators of the rank may record into it
// at once.
type Recorder struct {
	start time.Time // what the records' times count from
	names map[string]int

	mu      sync.Mutex
	to      *bufio.Writer
	closer  io.Closer // nil where the writer is the caller's
	rank    int       // -1 until the first communicator comes
	tracks  int
	pending []record
	written time.Time
	closed  bool
	err     error
}

// record is an operation (op is not empty), or a phase of one.
type record struct {
	from, to    time.Duration // since Recorder.start
	track       int
	op          string
	args        string // of an operation: JSON members, a comma before each
	phase       Phase
	peer        int // -1: nobody
	seq         uint64
	step        uint32
	bytes       int64
	whole, pair bool // the message begins or ends with this record; it is of Send or Recv, numbered by its lane
}

// NewRecorder writes to w, which is the caller's to close, after Close.
func NewRecorder(w io.Writer) *Recorder {
	now := time.Now()
	return &Recorder{start: now.Add(-time.Duration(now.Nanosecond() % 1000)), names: map[string]int{}, written: now, rank: -1, to: bufio.NewWriterSize(w, 64<<10)}
}

// Create makes a file and a Recorder that writes it.
func Create(path string) (*Recorder, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	r := NewRecorder(f)
	r.closer = f
	return r, nil
}

// Track is a communicator's line in the trace.
type Track struct {
	r  *Recorder
	id int
}

// Track adds a communicator: its name is the same on all its ranks, and where there
// was one of that name before it gets a number too; rank and size are this rank's place
// in it. The first one's rank is the trace's.
func (r *Recorder) Track(name, transport string, rank, size int) *Track {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rank < 0 {
		r.rank = rank
		r.header()
	}
	r.flush()
	if r.names[name]++; r.names[name] > 1 {
		name = fmt.Sprintf("%s, %d", name, r.names[name])
	}
	t := &Track{r: r, id: r.tracks}
	r.tracks++
	r.thread(t.id, name, transport, rank, size)
	return t
}

// Now is the time that records are given in.
func (t *Track) Now() time.Duration { return time.Since(t.r.start) }

// At is a moment in the time of records.
func (t *Track) At(moment time.Time) time.Duration { return moment.Sub(t.r.start) }

// Op records an operation that has ended: its name, its number in the communicator,
// and details, JSON members with a comma before each, such as `,"algorithm":"ring"`.
func (t *Track) Op(from time.Duration, name string, seq uint64, args string) {
	t.add(record{from: from, to: t.Now(), op: name, seq: seq, args: args, peer: -1})
}

// Local records a phase without a message.
func (t *Track) Local(p Phase, from time.Duration, seq uint64, bytes int64) time.Duration {
	to := t.Now()
	t.add(record{from: from, to: to, phase: p, peer: -1, seq: seq, bytes: bytes})
	return to
}

// Message is what tells a message from all others of its communicator, but for its
// direction.
type Message struct {
	Peer  int
	Seq   uint64
	Step  uint32
	Bytes int64
	Pair  bool // it is of Send and Recv, whose numbers are their lane's
}

// Message records a phase of a message; whole says that a Send has handed it over
// entirely, or that another phase is its end.
func (t *Track) Message(p Phase, from time.Duration, m Message, whole bool) time.Duration {
	to := t.Now()
	t.add(record{from: from, to: to, phase: p, peer: m.Peer, seq: m.Seq, step: m.Step, bytes: m.Bytes, whole: whole, pair: m.Pair})
	return to
}

func (t *Track) add(e record) {
	r := t.r
	e.track = t.id
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	r.pending = append(r.pending, e)
	if len(r.pending) >= held || e.op != "" && time.Since(r.written) > time.Second {
		r.flush()
	}
}

// Flush writes what is kept in memory.
func (r *Recorder) Flush() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
	return r.err
}

func (r *Recorder) flush() {
	for i := range r.pending {
		r.line(&r.pending[i])
	}
	r.pending = r.pending[:0]
	r.keep(r.to.Flush())
	r.written = time.Now()
}

// Close ends the trace; what comes later is left out, and a second Close does nothing.
// Its error is the first of all writing.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return r.err
	}
	r.closed = true
	r.flush()
	if r.rank < 0 {
		r.write("[")
	}
	r.write("\n]\n")
	r.keep(r.to.Flush())
	if r.closer != nil {
		r.keep(r.closer.Close())
	}
	return r.err
}

func (r *Recorder) write(text string) {
	_, err := r.to.WriteString(text)
	r.keep(err)
}

func (r *Recorder) keep(err error) {
	if r.err == nil && err != nil {
		r.err = fmt.Errorf("timeline: %w", err)
	}
}

// machine is a name that processes share which share a clock.
func machine() string {
	host, _ := os.Hostname() // without a name the boot's number is enough
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return host
	}
	return host + " " + strings.TrimSpace(string(boot))
}
