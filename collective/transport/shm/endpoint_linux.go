package shm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/processors"
)

// A rank looks at its notes every glance, at the others' processes every look. It does not
// sleep on a futex in between: a goroutine in a call of the system holds the processor that
// its process may have alone, and the one that runs an operation would wait for some
// microseconds to ten milliseconds until the Go runtime has it back.
const (
	glance = 5 * time.Millisecond
	look   = 20 * time.Millisecond
)

// linger bounds how long Close waits for others to take the notes that are kept for them.
const linger = 100 * time.Millisecond

// keepMapped is how long the segment is kept after Close: much longer than an interrupted
// call takes to find out that it is.
const keepMapped = time.Minute

// errGone is the error of the note about a process that ended without Close.
var errGone = errors.New("its process is gone")

// endpoint is one rank of a group.
type endpoint struct {
	seg   *segment
	name  string
	rank  int
	stop  *transport.Stop
	box   *transport.Mailbox
	quit  chan struct{}
	done  sync.WaitGroup
	once  sync.Once
	mu    sync.Mutex // of Signal and Close
	lanes []ends

	exchange exchange // under way
	steady   steady   // memory that messages are read from and written to in place
	scratch  []byte   // what is combined is read into it
	crowded  bool     // there are more ranks than processors
	fenced   bool     // see set
	depth    uint32   // slots of a lane that are used
	medium   int      // bytes of the longest message that always passes through the ring
	cycle    int      // see cycleFor
	under    int      // see underFor
	adapts   bool     // longer ones may, by their reader's wish
	lending  []int    // ranks that long messages are under way to, with parts that nobody has begun
	closed   bool
	later    *time.Timer // forgets the segment, after Close

	// Of vectors that are merged, by rank.
	merged    []byte   // other ranks' parts
	blocks    [][]byte // where the parts are that are combined
	folding   [][]byte
	addresses []uint64 // of the vectors
	stageFrom int      // see stages
	staging   bool     // results are taken from where ranks show them
	results   results  // which is quicker
	rounds    uint32   // that were shown so
}

// ends are this rank's sides of the lanes to and from one other rank.
type ends struct {
	rank         int // the other's
	peer         *rankBlock
	out, in      *lane
	posted, read uint32 // messages, counted as the lane counts
	freed        uint32 // messages that the other rank has taken, when it was last asked
	ahead        uint32 // messages in a row that were there when they were wanted
	noted, heard uint64
	unsent       [][]byte
	held         [deepest][]byte // payloads that the receiver reads where they are, by slot
	holding      bool            // there are some,
	heldFrom     uint32          // from this message
	heldTo       uint32          // up to the one before this
	// Of the ring: where the next message goes, and where it was when a message was
	// posted, by slot.
	next int
	from [deepest]int
	// Parts of messages in place that went through the chunks, as the lane counts.
	helped, taken uint32
	takenThere    uint32          // of helped, those that the reader had taken when it was last asked
	own           [deepest]uint32 // parts that the writer laid, by slot
	lendFrom      uint32          // the first message that may have parts to lay
	// Parts of messages in place that were written into the reader's memory, as the lane counts.
	pushedOut, pushedIn uint32
	pushes              bool           // this rank and the other one write such parts
	habits              [16][2]habit   // by the messages' length, of those that are combined apart
	routes              [routes]route  // of messages from the other rank
	postedThen          uint32         // messages posted to it when the latest one came through the ring
	writing             [routes]uint64 // nanoseconds of the latest message to it that went into the ring, by class
	refused             uint32         // 1 + the number of the message of which a part could not be written
	expected            []byte         // where the next message goes, if Expect was told
	unmerged            int            // bytes of the own block that are to be written into the other rank's result
	// What is reserved of the lane to the other rank.
	ringHas   int  // bytes of the ring
	chunksHad bool // the chunks
	bare      bool // which cannot be had
	// Of messages that pass through chunks.
	pumps           sync.WaitGroup
	turn            chan struct{} // closed when the last pump is done
	filled, emptied uint64
}

func newEndpoint(s *segment, name string, rank int) *endpoint {
	e := &endpoint{seg: s, name: name, rank: rank, stop: transport.NewStop(), box: transport.NewMailbox(), quit: make(chan struct{}),
		lanes: make([]ends, s.n), scratch: make([]byte, chunk), crowded: isCrowded(s.n), fenced: true}
	e.depth, e.medium, e.cycle = depthFor(s.n, e.crowded), mediumFor(s.n, e.crowded), cycleFor(s.n)
	e.under, e.adapts = underFor(e.crowded), !e.crowded
	e.steady.collapse, e.stageFrom = hugePages(), stageFrom()
	for r := range e.lanes {
		e.lanes[r].rank, e.lanes[r].peer, e.lanes[r].out, e.lanes[r].in = r, s.rank(r), s.lane(rank, r), s.lane(r, rank)
	}
	e.done.Go(e.listen)
	return e
}

// isCrowded says whether n ranks are more than the processors.
func isCrowded(n int) bool { return n > processors.Count }

// Rank is this end's place.
func (e *endpoint) Rank() int { return e.rank }

// Size is the number of ends.
func (e *endpoint) Size() int { return e.seg.n }

// Name is "shm".
func (e *endpoint) Name() string { return "shm" }

// Notes has the notes for this rank.
func (e *endpoint) Notes() <-chan transport.Note { return e.box.Notes() }

// Eager is the length of messages that always travel in slots and in the ring.
func (e *endpoint) Eager() int { return e.medium }

// Interrupt ends what waits.
func (e *endpoint) Interrupt(err error) {
	e.stop.Set(err)
}

// Split joins a new segment.
func (e *endpoint) Split(ctx context.Context, name string, members []int) (transport.Endpoint, error) {
	place := -1
	for i, m := range members {
		if m < 0 || m >= e.seg.n {
			return nil, fmt.Errorf("split %q: there is no rank %d among %d", name, m, e.seg.n)
		}
		if m == e.rank {
			place = i
		}
	}
	if place < 0 {
		return nil, fmt.Errorf("split %q: rank %d is not among its members", name, e.rank)
	}
	with := &company{parent: e, members: members, mark: splitMark(name)}
	e.mu.Lock()
	if !e.closed {
		e.seg.rank(e.rank).failed.CompareAndSwap(with.mark, 0) // it gave up before, and comes again
	}
	e.mu.Unlock()
	ends, err := join(ctx, e.name+"/"+name, place, len(members), with)
	if err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		if !e.closed {
			e.seg.rank(e.rank).failed.Store(with.mark)
		}
	}
	return ends, err
}

// Close tells the others that this rank has left.
func (e *endpoint) Close() error {
	e.once.Do(func() {
		e.stop.Set(transport.ErrLeft)
		for end := time.Now().Add(linger); e.waits() && time.Now().Before(end); time.Sleep(glance / 5) {
			e.sendAll() // what was said before it left is heard, by who runs
		}
		e.mu.Lock()
		e.closed = true
		e.mu.Unlock()
		close(e.quit)
		e.done.Wait()
		e.seg.rank(e.rank).left.Store(1)
		e.box.Close()
		// A call of this rank that was interrupted may still look at the segment, until Release.
		e.later = time.AfterFunc(keepMapped, e.seg.forget)
	})
	return nil
}

// listen takes notes and looks after the other ranks.
func (e *endpoint) listen() {
	gone := make([]bool, e.seg.n)
	gone[e.rank] = true
	next := time.Now()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		select {
		case <-e.quit:
			return
		case <-tick.C:
		}
		e.takeNotes()
		e.sendAll()
		if now := time.Now(); !now.Before(next) {
			next = now.Add(look)
			e.lookAfter(gone)
		}
	}
}

func (e *endpoint) takeNotes() {
	for from := range e.seg.n {
		l, at := e.seg.lane(from, e.rank), &e.lanes[from]
		for {
			n := &l.notes[at.heard%noteMax]
			if n.state.Load() != full {
				break
			}
			e.box.Put(transport.Note{From: from, Text: append([]byte(nil), n.text[:min(n.len, noteLen)]...)})
			n.state.Store(empty)
			at.heard++
		}
	}
}

func (e *endpoint) lookAfter(gone []bool) {
	if e.seg.head().joined.Load() < 2*int64(e.seg.n) {
		return // they are still coming
	}
	for r := range e.seg.n {
		if gone[r] {
			continue
		}
		other := e.seg.rank(r)
		left := other.left.Load() != 0
		pid := int(other.pid.Load())
		born, runs := other.born.Load(), true
		if !left && pid != os.Getpid() {
			var now uint64
			now, runs = bornAt(pid)
			runs = runs && now == born
		}
		switch {
		case left:
			gone[r] = true
			e.takeNotes() // what it said before it left comes first
			e.box.Put(transport.Note{From: r, Err: transport.ErrLeft})
		case !runs:
			gone[r] = true
			e.takeNotes()
			e.box.Put(transport.Note{From: r, Err: errGone})
		}
	}
}

// Signal sends a note, or keeps it until the receiver has taken earlier ones.
func (e *endpoint) Signal(to int, text []byte) error {
	if len(text) > noteLen {
		return fmt.Errorf("shm: a note of %d bytes, at most %d", len(text), noteLen)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	at := &e.lanes[to]
	if len(at.unsent) >= unsentMax {
		return fmt.Errorf("shm: rank %d takes no notes: %d wait for it", to, len(at.unsent))
	}
	at.unsent = append(at.unsent, append([]byte(nil), text...))
	e.send(to)
	return nil
}

// unsentMax bounds the notes kept for a rank that does not take any: heartbeats of
// an hour.
const unsentMax = 4096

// send puts what is kept for a rank into its lane as far as there is room; e.mu is
// held.
func (e *endpoint) send(to int) {
	at := &e.lanes[to]
	if e.closed || e.seg.rank(to).left.Load() != 0 {
		at.unsent = nil
	}
	for len(at.unsent) > 0 {
		n := &e.seg.lane(e.rank, to).notes[at.noted%noteMax]
		if n.state.Load() != empty {
			break
		}
		n.len = uint32(copy(n.text[:], at.unsent[0]))
		n.state.Store(full)
		at.unsent = at.unsent[1:]
		at.noted++
	}
}

// waits says whether notes are kept for a rank that is there.
func (e *endpoint) waits() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for to := range e.lanes {
		if len(e.lanes[to].unsent) > 0 && e.seg.rank(to).left.Load() == 0 {
			return true
		}
	}
	return false
}

// sendAll sends what is kept for all ranks.
func (e *endpoint) sendAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for to := range e.lanes {
		if len(e.lanes[to].unsent) > 0 {
			e.send(to)
		}
	}
}
