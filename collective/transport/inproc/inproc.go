package inproc

import (
	"context"
	"fmt"
	"sync"

	"github.com/volley-go/volley/collective/transport"
)

// world is what the endpoints of one group share.
type world struct {
	lanes [][]lane // [from][to]
	board *board
	notes []*transport.Mailbox
	left  []*transport.Stop // comes with ErrLeft when the rank has closed its endpoint
	rooms sync.Pool         // of merges

	mu     sync.Mutex
	splits map[string]*meeting
}

// endpoint is one rank of a world.
type endpoint struct {
	w       *world
	rank    int
	stop    *transport.Stop
	once    sync.Once
	merging merging
}

// New makes the endpoints of n ranks, n at least 1.
func New(n int) []transport.Endpoint {
	w := newWorld(n)
	ends := make([]transport.Endpoint, n)
	for r := range ends {
		ends[r] = w.end(r)
	}
	return ends
}

func newWorld(n int) *world {
	w := &world{lanes: make([][]lane, n), notes: make([]*transport.Mailbox, n), left: make([]*transport.Stop, n), board: newBoard(n), splits: map[string]*meeting{}}
	w.rooms.New = func() any { return newRoom(n) }
	for r := range n {
		w.left[r] = transport.NewStop()
	}
	for r := range n {
		w.lanes[r] = make([]lane, n)
		for to := range n {
			l := &w.lanes[r][to]
			l.crowd, l.to, l.board, l.move = n, to, w.board, l.part
			l.reader.other, l.writer.other = w.left[r], w.left[to]
			l.reader.signal = make(chan struct{}, 1)
			l.writer.signal = make(chan struct{}, 1)
		}
		w.notes[r] = transport.NewMailbox()
	}
	return w
}

func (w *world) end(rank int) *endpoint {
	return &endpoint{w: w, rank: rank, stop: transport.NewStop()}
}

func (e *endpoint) Rank() int    { return e.rank }
func (e *endpoint) Size() int    { return len(e.w.lanes) }
func (e *endpoint) Name() string { return "inproc" }

func (e *endpoint) Post(to int, h *transport.Header, payload []byte) error {
	return e.w.lanes[e.rank][to].post(h, payload, e.stop)
}

func (e *endpoint) Flush(to int) error {
	return e.w.lanes[e.rank][to].flush(e.stop)
}

func (e *endpoint) Recv(from int, want *transport.Header, sink *transport.Sink) error {
	return e.w.lanes[from][e.rank].receive(from, want, sink, e.stop)
}

func (e *endpoint) Signal(to int, text []byte) error {
	e.w.notes[to].Put(transport.Note{From: e.rank, Text: text})
	return nil
}

func (e *endpoint) Notes() <-chan transport.Note { return e.w.notes[e.rank].Notes() }

func (e *endpoint) Interrupt(err error) { e.stop.Set(err) }

func (e *endpoint) Close() error {
	e.once.Do(func() {
		e.stop.Set(transport.ErrLeft)
		e.w.left[e.rank].Set(transport.ErrLeft)
		e.w.without(e.rank)
		for r, box := range e.w.notes {
			if r != e.rank {
				box.Put(transport.Note{From: e.rank, Err: transport.ErrLeft})
			}
		}
		e.w.notes[e.rank].Close()
	})
	return nil
}

// meeting is a split whose members are still coming. It comes about for all of them or for
// none: what is said below is guarded by the world's mu.
type meeting struct {
	world   *world
	members []int
	come    []bool // by place
	missing int
	over    chan struct{} // closed when all have come, or one that has not cannot any more:
	err     error         // set before
}

func (e *endpoint) Split(ctx context.Context, name string, members []int) (transport.Endpoint, error) {
	place := -1
	for i, m := range members {
		if m < 0 || m >= e.Size() {
			return nil, fmt.Errorf("split %q: there is no rank %d among %d", name, m, e.Size())
		}
		if m == e.rank {
			place = i
		}
	}
	if place < 0 {
		return nil, fmt.Errorf("split %q: rank %d is not among its members", name, e.rank)
	}
	m, err := e.w.come(name, members, place)
	if err != nil {
		return nil, err
	}
	select {
	case <-m.over:
	case <-ctx.Done():
		if e.w.withdraw(name, m, place) {
			return nil, context.Cause(ctx)
		}
	}
	if m.err != nil {
		return nil, m.err
	}
	return m.world.end(place), nil
}

// come makes a member be there for a split.
func (w *world) come(name string, members []int, place int) (*meeting, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.splits[name]
	if m == nil {
		m = &meeting{world: newWorld(len(members)), members: members, come: make([]bool, len(members)), missing: len(members), over: make(chan struct{})}
		w.splits[name] = m
	}
	if m.come[place] {
		return nil, fmt.Errorf("split %q: rank %d meets there already", name, members[place])
	}
	m.come[place] = true
	if m.missing--; m.missing == 0 {
		w.conclude(name, m, nil)
	}
	for i, r := range members {
		if !m.come[i] && w.left[r].Err() != nil {
			w.conclude(name, m, &transport.Absent{Rank: r, Err: w.left[r].Err()})
			break
		}
	}
	return m, nil
}

// withdraw takes a member out of a split whose others have not all come, and says whether
// that is so.
func (w *world) withdraw(name string, m *meeting, place int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.splits[name] != m {
		return false
	}
	m.come[place] = false
	if m.missing++; m.missing == len(m.members) {
		delete(w.splits, name)
	}
	return true
}

// without ends the splits that wait for a rank that has left.
func (w *world) without(rank int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, m := range w.splits {
		for place, r := range m.members {
			if r == rank && !m.come[place] {
				w.conclude(name, m, &transport.Absent{Rank: rank, Err: transport.ErrLeft})
			}
		}
	}
}

// conclude ends a split.
func (w *world) conclude(name string, m *meeting, err error) {
	m.err = err
	delete(w.splits, name)
	close(m.over)
}
