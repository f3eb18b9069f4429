package mpi

import (
	"context"
	"fmt"
	"sync"

	"github.com/volley-go/volley/collective/transport"
)

// endpoint is one rank of a group. Of each group a rank has a tag of its own, by which
// the others send to it.
type endpoint struct {
	s     *site
	name  string
	tag   int
	rank  int
	place map[int]int // a rank of the job's number here
	stop  *transport.Stop
	box   *transport.Mailbox
	once  sync.Once

	// The site's lock guards these.
	lanes  []lane
	closed bool
}

// lane is both directions between this rank and another one.
type lane struct {
	peer   int // its rank in the job
	tag    int // of its end, 0 before it said hello
	queue  []message
	flying []*flight
	skip   int64 // bytes of a dropped message that are to come
	gone   error // nothing passes any more
	left   bool  // it sends nothing more
	told   bool  // that this rank has left
}

// message is what is not sent wholly yet.
type message struct {
	header  transport.Header
	payload []byte
	sent    int64
}

const (
	window = 8  // segments under way on a lane
	depth  = 64 // messages posted to a lane
)

func (s *site) newEndpoint(name string, members []int) *endpoint {
	e := &endpoint{s: s, name: name, tag: s.nextTag, rank: -1, place: make(map[int]int, len(members)), stop: transport.NewStop(),
		box: transport.NewMailbox(), lanes: make([]lane, len(members))}
	s.nextTag++
	for i, m := range members {
		e.place[m] = i
		e.lanes[i].peer = m
		if m == s.rank {
			e.rank = i
			e.lanes[i].left, e.lanes[i].told = true, true
		}
	}
	s.ends[e.tag] = e
	return e
}

// Rank is this end's place.
func (e *endpoint) Rank() int { return e.rank }

// Size is the number of ends.
func (e *endpoint) Size() int { return len(e.lanes) }

// Name is "mpi".
func (e *endpoint) Name() string { return "mpi" }

// Notes has the notes for this rank.
func (e *endpoint) Notes() <-chan transport.Note { return e.box.Notes() }

// Signal sends a note.
func (e *endpoint) Signal(to int, text []byte) error {
	if len(text) > maxNote {
		return fmt.Errorf("mpi: a note of %d bytes, at most %d", len(text), maxNote)
	}
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	l := &e.lanes[to]
	if e.closed || l.left {
		return nil // nobody hears it
	}
	return e.s.tell(l.peer, &control{kind: note, tag: l.tag, text: text})
}

// Interrupt ends what waits. What is posted and not copied yet is never sent.
func (e *endpoint) Interrupt(err error) {
	e.stop.Set(err)
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	e.drop()
}

func (e *endpoint) drop() {
	for i := range e.lanes {
		e.lanes[i].queue = nil
	}
}

// draining says that what comes is for nobody.
func (e *endpoint) draining() bool { return e.stop.Err() != nil }

// lose ends a lane, and tells the reader of the notes, once.
func (e *endpoint) lose(i int, err error) {
	l := &e.lanes[i]
	if l.gone == nil {
		l.gone = err
		l.queue = nil
		e.box.Put(transport.Note{From: i, Err: err})
	}
}

// Split meets the other members; each says by which tag it can be reached.
func (e *endpoint) Split(ctx context.Context, name string, members []int) (transport.Endpoint, error) {
	jobs, here := make([]int, len(members)), false
	for i, m := range members {
		if m < 0 || m >= e.Size() {
			return nil, fmt.Errorf("split %q: there is no rank %d among %d", name, m, e.Size())
		}
		jobs[i] = e.lanes[m].peer
		here = here || m == e.rank
	}
	if !here {
		return nil, fmt.Errorf("split %q: rank %d is not among its members", name, e.rank)
	}
	return e.s.meet(ctx, e.name+"/"+name, jobs)
}

// Close leaves the group. Segments that were sent still arrive: the others are told
// after them.
func (e *endpoint) Close() error {
	e.once.Do(func() {
		e.stop.Set(transport.ErrLeft)
		e.s.mu.Lock()
		e.closed = true
		e.drop()
		e.s.mu.Unlock()
		e.box.Close()
	})
	return nil
}

// depart tells the others that this rank has left, each when it has taken all that was
// sent to it, and says whether all of them have left too.
func (e *endpoint) depart() bool {
	all := true
	for i := range e.lanes {
		l := &e.lanes[i]
		if !l.told && len(l.flying) == 0 {
			l.told = true
			if l.tag != 0 && e.s.gone[l.peer] == nil {
				// An error is of a rank that is gone, and needs not be told.
				_ = e.s.tell(l.peer, &control{kind: leave, tag: l.tag})
			}
		}
		all = all && l.told && len(l.flying) == 0 && (l.left || l.tag == 0 || e.s.gone[l.peer] != nil)
	}
	return all
}
