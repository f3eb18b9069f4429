package mesh

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/secret"
)

// Options say who a node is.
type Options struct {
	Run        [16]byte
	Generation uint64
	Rank, Size int    // Rank is Hub, or from 0 to Size
	Key        []byte // what the members of the gang alone know
	Guard      *secret.Guard
	Lease      time.Duration // for so long a node may be silent
	Listener   net.Listener  // where others connect; the node's from then on
	Card       []byte        // what the others shall know of this node
	Handle     Handler       // answers the questions of others
	Apart      bool          // connections also to nodes of this process
}

// Handler answers a question. Its context ends when nobody waits for the answer any more.
type Handler func(ctx context.Context, from int, verb string, body []byte) (Answer, error)

// Answer is bytes that may stay where they are until Done is called, which may be nil.
type Answer struct {
	Parts [][]byte
	Done  func(whole bool)

	begun func(*stream)
}

// Node is a member of a gang.
type Node struct {
	o      Options
	ctx    context.Context // ends with the node, with why
	cancel context.CancelCauseFunc
	placed chan struct{} // closed when all are there
	last   atomic.Uint64 // the number of the last question or message of this node
	asks   atomic.Uint64
	lobby  transport.Lobby
	doors  sync.WaitGroup

	mu           sync.Mutex
	ways         map[int]way
	links        []*link
	dialing      map[int]chan struct{}
	heard        map[int]time.Time
	gone         map[int]*Gone
	cards        []card // by rank, when all are there
	come         int
	plan         []byte // the hub's table, as far as it has come
	asked        map[uint64]*question
	serving      map[served]*serving
	held         map[uint64]*held
	boxes        map[label]*box
	groups       map[uint64]*group
	listeners    map[int]func(rank int)
	lastListener int
}

// card is what all know of a worker.
type card struct {
	Address string
	Card    []byte
}

func newNode(o Options) *Node {
	n := &Node{o: o, placed: make(chan struct{}), ways: map[int]way{}, dialing: map[int]chan struct{}{}, heard: map[int]time.Time{}, gone: map[int]*Gone{},
		asked: map[uint64]*question{}, serving: map[served]*serving{}, held: map[uint64]*held{}, boxes: map[label]*box{}, groups: map[uint64]*group{}, listeners: map[int]func(int){}}
	n.ctx, n.cancel = context.WithCancelCause(context.Background())
	if o.Rank == Hub {
		n.cards = make([]card, o.Size)
	}
	return n
}

// Rank is this node's number.
func (n *Node) Rank() int { return n.o.Rank }

// Size is the number of workers.
func (n *Node) Size() int { return n.o.Size }

// Done is closed when the node has ended: it was closed, or for a worker the hub has gone.
func (n *Node) Done() <-chan struct{} { return n.ctx.Done() }

// Err says why it has.
func (n *Node) Err() error {
	if n.ctx.Err() == nil {
		return nil
	}
	return context.Cause(n.ctx)
}

func (n *Node) ended() bool { return n.ctx.Err() != nil }

// Card is what a worker shall be known by. The workers must all be there.
func (n *Node) Card(rank int) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	if rank < 0 || rank >= len(n.cards) {
		return nil
	}
	return n.cards[rank].Card
}

// Gone says how a node has gone, nil where it has not.
func (n *Node) Gone(rank int) *Gone {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gone[rank]
}

// Missing are the workers that have not come.
func (n *Node) Missing() (ranks []int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for r := range n.o.Size {
		if n.ways[r] == nil && n.gone[r] == nil {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

func (n *Node) frame(k kind, to int) frame {
	return frame{kind: k, run: n.o.Run, generation: n.o.Generation, from: int32(n.o.Rank), to: int32(to)}
}

// arrive takes a frame. An error ends the way that it came by.
func (n *Node) arrive(w way, f *frame, payload []byte) error {
	if f.run != n.o.Run || f.generation != n.o.Generation {
		return errFrame
	}
	from, to := int(f.from), int(f.to)
	if from < Hub || from >= n.o.Size || to < Hub || to >= n.o.Size {
		return errFrame
	}
	n.hear(w)
	if to != n.o.Rank {
		return n.relay(f, to, payload)
	}
	switch f.kind {
	case table:
		return n.seat(f, payload)
	case goodbye:
		n.lose(&Gone{Rank: from, Left: len(payload) == 0, Text: string(payload)})
	case gone:
		var g Gone
		if err := json.Unmarshal(payload, &g); err != nil {
			return err
		}
		n.lose(&g)
	case note, data, offer, ack, come, quit:
		return n.groupOf(f.group).arrive(from, f, payload)
	case post, postOffer:
		n.deliver(from, f, payload)
	case ask:
		return n.asking(w, from, f, payload)
	case answer, failed:
		return n.answered(f, payload)
	case cancel:
		n.canceled(from, f.number)
	}
	return nil
}

func (n *Node) hear(w way) {
	if l, ok := w.(*link); ok {
		n.mu.Lock()
		n.heard[l.rank] = time.Now()
		n.mu.Unlock()
	}
}

// relay passes on what is for another one: the hub reaches all.
func (n *Node) relay(f *frame, to int, payload []byte) error {
	if n.o.Rank != Hub {
		return errFrame
	}
	n.mu.Lock()
	w := n.ways[to]
	n.mu.Unlock()
	if w != nil {
		_ = w.send(*f, payload) // one that has gone hears nothing
	}
	return nil
}

// broken is a connection that ended.
func (n *Node) broken(l *link, err error) {
	if n.ended() {
		return
	}
	n.lose(&Gone{Rank: l.rank, Text: err.Error()})
}

// lose ends what waits for a node; only the first reason counts.
func (n *Node) lose(g *Gone) {
	n.mu.Lock()
	if n.gone[g.Rank] != nil || g.Rank == n.o.Rank {
		own := g.Rank == n.o.Rank
		n.mu.Unlock()
		if own {
			n.end(g)
		}
		return
	}
	n.gone[g.Rank] = g
	delete(n.ways, g.Rank)
	var cut []*link
	for _, l := range n.links {
		if l.rank == g.Rank {
			cut = append(cut, l)
		}
	}
	for _, q := range n.asked {
		if q.to == g.Rank {
			q.fail(g)
		}
	}
	for k, s := range n.serving {
		if k.from == g.Rank {
			s.cancel(g)
			delete(n.serving, k)
		}
	}
	for k, b := range n.boxes {
		if k.from == g.Rank {
			b.wake()
		}
	}
	groups := make([]*group, 0, len(n.groups))
	for _, gr := range n.groups {
		groups = append(groups, gr)
	}
	others := n.others()
	listeners := make([]func(int), 0, len(n.listeners))
	for _, f := range n.listeners {
		listeners = append(listeners, f)
	}
	n.mu.Unlock()
	for _, l := range cut {
		go l.hangUp(true)
	}
	for _, gr := range groups {
		gr.lose(g)
	}
	if n.o.Rank == Hub {
		text, _ := json.Marshal(g) // a number and texts
		for rank, w := range others {
			_ = w.send(n.frame(gone, rank), text) // one that has gone hears nothing
		}
	}
	for _, f := range listeners {
		f(g.Rank)
	}
	if g.Rank == Hub {
		n.end(g)
	}
}

// others are the ways there are; n.mu is held.
func (n *Node) others() map[int]way {
	some := make(map[int]way, len(n.ways))
	for r, w := range n.ways {
		some[r] = w
	}
	return some
}

// end ends all that waits here.
func (n *Node) end(err error) {
	n.cancel(err)
	n.unsettle()
	n.mu.Lock()
	for _, q := range n.asked {
		q.fail(err)
	}
	for _, b := range n.boxes {
		b.wake()
	}
	groups := make([]*group, 0, len(n.groups))
	for _, gr := range n.groups {
		groups = append(groups, gr)
	}
	n.mu.Unlock()
	for _, gr := range groups {
		gr.over(err)
	}
}

// Dismiss tells a worker that it is given up, and why.
func (n *Node) Dismiss(rank int, why string) {
	n.mu.Lock()
	w := n.ways[rank]
	n.mu.Unlock()
	if w != nil {
		_ = w.send(n.frame(goodbye, rank), []byte(why)) // it may have gone
	}
	n.lose(&Gone{Rank: rank, Text: why})
}

// Close leaves the gang: the others are told.
func (n *Node) Close() error { return n.leave("") }

// Abandon is Close with a reason: who hears it calls this node lost.
func (n *Node) Abandon(why string) error { return n.leave(why) }

func (n *Node) leave(why string) error {
	if n.ended() && errors.Is(n.Err(), errClosed) {
		return nil
	}
	n.mu.Lock()
	others := n.others()
	links := n.links
	n.mu.Unlock()
	for rank, w := range others {
		_ = w.send(n.frame(goodbye, rank), []byte(why)) // one that has gone hears nothing
	}
	n.end(errClosed)
	if n.o.Listener != nil {
		_ = n.o.Listener.Close() // nobody is expected
	}
	var all sync.WaitGroup
	for _, l := range links {
		all.Go(func() { l.hangUp(false) })
	}
	all.Wait()
	n.doors.Wait()
	return nil
}

// Asks is how many questions this node has asked others, for tests.
func (n *Node) Asks() uint64 { return n.asks.Load() }

// Kill ends a node as the end of its process would, for tests.
func (n *Node) Kill() {
	n.mu.Lock()
	links := n.links
	n.mu.Unlock()
	n.cancel(errClosed)
	n.unsettle()
	if n.o.Listener != nil {
		_ = n.o.Listener.Close()
	}
	for _, l := range links {
		l.fail(errClosed)
	}
}

// OnGone calls f, in whatever goroutine, when a node has gone from now on, until stop.
func (n *Node) OnGone(f func(rank int)) (stop func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lastListener++
	at := n.lastListener
	n.listeners[at] = f
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.listeners, at)
	}
}

// Address is where a worker can be reached, when all are there.
func (n *Node) Address(rank int) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if rank < 0 || rank >= len(n.cards) {
		return ""
	}
	return n.cards[rank].Address
}
