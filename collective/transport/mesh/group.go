package mesh

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/volley-go/volley/collective/transport"
)

// group is what a node knows of a group: also of one that others have begun and this node not yet.
type group struct {
	node *Node
	id   uint64

	mu     sync.Mutex
	lanes  map[int]*lane // by node
	end    *endpoint     // nil until this node is in it
	closed bool          // it was: what comes is dropped
}

// window is how many messages of a lane may be under way, and every how many the receiver says so.
const (
	window = 256
	tell   = 64
)

// lane is the messages between this node and another one of a group.
type lane struct {
	mu      sync.Mutex
	in      []arrival
	ready   chan struct{} // has one where something came
	room    chan struct{} // has one where messages were taken
	there   bool          // the other node is at the split's meeting
	changed chan struct{} // closed when there or left has changed
	left    error         // of the other node, behind its last message
	sent    int64
	taken   int64 // of sent
	got     int64 // received here
	flight  map[uint64]bool
	landed  chan struct{} // has one where a payload was copied out
}

// arrival is a message that came.
type arrival struct {
	head    transport.Header
	payload []byte
	offered uint64
}

func newLane() *lane {
	return &lane{ready: make(chan struct{}, 1), room: make(chan struct{}, 1), changed: make(chan struct{}), flight: map[uint64]bool{}, landed: make(chan struct{}, 1)}
}

// change tells those who wait at a meeting; l.mu is held.
func (l *lane) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (n *Node) groupOf(id uint64) *group {
	n.mu.Lock()
	defer n.mu.Unlock()
	g := n.groups[id]
	if g == nil {
		g = &group{node: n, id: id, lanes: map[int]*lane{}}
		n.groups[id] = g
	}
	return g
}

// lane is that with a node; nil where the group was closed.
func (g *group) lane(rank int) *lane {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	l := g.lanes[rank]
	if l == nil {
		l = newLane()
		g.lanes[rank] = l
	}
	return l
}

// member is the group's endpoint here and the node's rank in it, nil where there is none.
func (g *group) member(rank int) (*endpoint, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end == nil || g.closed {
		return nil, 0
	}
	at := slices.Index(g.end.ranks, rank)
	if at < 0 {
		return nil, 0
	}
	return g.end, at
}

func (g *group) arrive(from int, f *frame, payload []byte) error {
	l := g.lane(from)
	if l == nil {
		return nil
	}
	switch f.kind {
	case note:
		if e, at := g.member(from); e != nil {
			e.notes.Put(transport.Note{From: at, Text: payload})
		}
	case data, offer:
		h, ok := readHeader(payload)
		if !ok {
			return errFrame
		}
		a := arrival{head: h, payload: payload[headerSize:]}
		if f.kind == offer {
			a.offered = f.number
		}
		l.mu.Lock()
		l.in = append(l.in, a)
		l.mu.Unlock()
		signal(l.ready)
	case ack:
		l.mu.Lock()
		l.taken = max(l.taken, f.off)
		l.mu.Unlock()
		signal(l.room)
	case come:
		l.mu.Lock()
		l.there = f.off == 1
		l.change()
		l.mu.Unlock()
	case quit:
		g.leave(from, transport.ErrLeft)
	}
	return nil
}

// lose is the end of a node, in a group that it may not be in.
func (g *group) lose(gone *Gone) {
	if gone.Left {
		g.leave(gone.Rank, transport.ErrLeft)
		return
	}
	g.leave(gone.Rank, gone)
}

// leave ends the lanes with a node.
func (g *group) leave(rank int, err error) {
	l := g.lane(rank)
	if l == nil {
		return
	}
	l.mu.Lock()
	first := l.left == nil
	if first {
		l.left = err
		l.change()
	}
	flight := make([]uint64, 0, len(l.flight))
	for number := range l.flight {
		flight = append(flight, number)
	}
	l.mu.Unlock()
	for _, number := range flight {
		g.node.forget(number)
	}
	signal(l.ready)
	signal(l.room)
	signal(l.landed)
	if e, at := g.member(rank); e != nil && first {
		e.notes.Put(transport.Note{From: at, Err: err})
	}
}

// over is the end of this node.
func (g *group) over(err error) {
	g.mu.Lock()
	e := g.end
	g.mu.Unlock()
	if e != nil {
		e.Interrupt(err)
		for at, rank := range e.ranks {
			if at != e.self {
				g.leave(rank, &Gone{Rank: rank, Text: err.Error()})
			}
		}
	}
}

// Group is this node's end of a group of nodes, in the order given; all of them give the same and an id that no other group of the gang has. It
// costs no message and no connection, and does not wait for the others.
func (n *Node) Group(id string, ranks []int) (transport.Endpoint, error) {
	self := slices.Index(ranks, n.o.Rank)
	if self < 0 {
		return nil, fmt.Errorf("ranks %v: this rank, %d, is not among them", ranks, n.o.Rank)
	}
	seen := map[int]bool{}
	for _, r := range ranks {
		if r < 0 || r >= n.o.Size || seen[r] {
			return nil, fmt.Errorf("ranks %v: rank %d is not one of %d, or named twice", ranks, r, n.o.Size)
		}
		seen[r] = true
	}
	return n.enter(groupID(id, ranks), slices.Clone(ranks), self)
}

// groupID is the number in a group's frames.
func groupID(id string, ranks []int) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %v", len(id), id, ranks))
	return binary.LittleEndian.Uint64(sum[:])
}

func (n *Node) enter(id uint64, ranks []int, self int) (*endpoint, error) {
	if n.ended() {
		return nil, n.Err()
	}
	g := n.groupOf(id)
	e := &endpoint{node: n, group: g, ranks: ranks, self: self, stop: transport.NewStop(), notes: transport.NewMailbox()}
	g.mu.Lock()
	if g.end != nil || g.closed {
		g.mu.Unlock()
		return nil, fmt.Errorf("there was a group of this id and these ranks, %v, before", ranks)
	}
	g.end = e
	left := map[int]error{}
	for r, l := range g.lanes { // of those who were here before
		l.mu.Lock()
		left[r] = l.left
		l.mu.Unlock()
	}
	g.mu.Unlock()
	n.mu.Lock()
	lost := make([]*Gone, 0, len(n.gone))
	for _, gone := range n.gone {
		lost = append(lost, gone)
	}
	n.mu.Unlock()
	for _, gone := range lost {
		g.lose(gone)
	}
	for r, err := range left { // it came and went; who hears of it twice is no wiser
		if at := slices.Index(ranks, r); at >= 0 && err != nil {
			e.notes.Put(transport.Note{From: at, Err: err})
		}
	}
	if n.ended() {
		g.over(n.Err())
	}
	return e, nil
}
