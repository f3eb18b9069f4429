package mesh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/volley-go/volley/collective/transport"
)

// endpoint is a node's end of a group.
type endpoint struct {
	node  *Node
	group *group
	ranks []int // the nodes'
	self  int
	stop  *transport.Stop
	notes *transport.Mailbox
	once  sync.Once
	room  []byte // a long message on its way to Combine
}

func (e *endpoint) Rank() int                    { return e.self }
func (e *endpoint) Size() int                    { return len(e.ranks) }
func (e *endpoint) Name() string                 { return "mesh" }
func (e *endpoint) Notes() <-chan transport.Note { return e.notes.Notes() }

// Eager is how long a payload is copied.
func (e *endpoint) Eager() int { return short }

func (e *endpoint) peer(rank int) (*lane, error) {
	if rank < 0 || rank >= len(e.ranks) || rank == e.self {
		return nil, fmt.Errorf("there is no other rank %d among %d", rank, len(e.ranks))
	}
	l := e.group.lane(e.ranks[rank])
	if l == nil {
		return nil, errClosed
	}
	return l, nil
}

// frame is one of this group's.
func (e *endpoint) frame(k kind, to int) frame {
	f := e.node.frame(k, e.ranks[to])
	f.group = e.group.id
	return f
}

// way is that to a rank, made where there is none.
func (e *endpoint) way(to int) (way, error) {
	n := e.node
	n.mu.Lock()
	w := n.ways[e.ranks[to]]
	n.mu.Unlock()
	if w != nil {
		return w, nil
	}
	ctx, done := context.WithCancel(n.ctx)
	defer done()
	go func() {
		select {
		case <-e.stop.Done():
			done()
		case <-ctx.Done():
		}
	}()
	w, err := n.reach(ctx, e.ranks[to])
	if stopped := e.stop.Err(); stopped != nil {
		return nil, stopped
	}
	return w, left(err)
}

// left is the error of a rank that has closed its place, as endpoints have it.
func left(err error) error {
	if g := (*Gone)(nil); errors.As(err, &g) && g.Left {
		return transport.ErrLeft
	}
	return err
}

func (e *endpoint) Post(to int, h *transport.Header, payload []byte) error {
	if err := e.stop.Err(); err != nil {
		return err
	}
	l, err := e.peer(to)
	if err != nil {
		return err
	}
	if int64(len(payload)) != h.Len {
		return fmt.Errorf("message to rank %d: %d bytes, its header says %d", to, len(payload), h.Len)
	}
	if err := e.await(l); err != nil {
		return err
	}
	w, err := e.way(to)
	if err != nil {
		return err
	}
	text := appendHeader(make([]byte, 0, headerSize+min(len(payload), short)), h)
	f := e.frame(data, to)
	if len(payload) <= short {
		f.number = h.Seq
		return e.put(to, w, f, append(text, payload...))
	}
	f.kind = offer
	item := &held{to: e.ranks[to], bytes: payload}
	f.number = e.node.hold(item)
	item.taken = func(whole bool) {
		l.mu.Lock()
		delete(l.flight, f.number)
		l.mu.Unlock()
		signal(l.landed)
	}
	l.mu.Lock()
	l.flight[f.number] = true
	l.mu.Unlock()
	if err := e.put(to, w, f, text); err != nil {
		e.unheld(l, f.number)
		return err
	}
	return nil
}

// put sends a frame on a way, whose end is that of the rank.
func (e *endpoint) put(to int, w way, f frame, text []byte) error {
	err := w.send(f, text)
	if err == nil {
		return nil
	}
	if g := e.node.Gone(e.ranks[to]); g != nil {
		return left(g)
	}
	return err
}

// await waits until a lane has room for one more.
func (e *endpoint) await(l *lane) error {
	for {
		l.mu.Lock()
		free, gone := l.sent-l.taken < window, l.left
		if free && gone == nil {
			l.sent++
		}
		l.mu.Unlock()
		if gone != nil {
			return gone
		}
		if free {
			return nil
		}
		select {
		case <-l.room:
		case <-e.stop.Done():
			return e.stop.Err()
		}
	}
}

// unheld takes a payload back.
func (e *endpoint) unheld(l *lane, number uint64) {
	e.node.forget(number)
	l.mu.Lock()
	delete(l.flight, number)
	l.mu.Unlock()
	signal(l.landed)
}

func (e *endpoint) Flush(to int) error {
	l, err := e.peer(to)
	if err != nil {
		return err
	}
	for {
		l.mu.Lock()
		flying := make([]uint64, 0, len(l.flight))
		for number := range l.flight {
			flying = append(flying, number)
		}
		gone := l.left
		l.mu.Unlock()
		stopped := e.stop.Err()
		if stopped != nil || gone != nil {
			for _, number := range flying {
				e.unheld(l, number)
			}
			if stopped != nil {
				return stopped
			}
			if len(flying) > 0 {
				return gone
			}
			return nil
		}
		if len(flying) == 0 {
			return nil
		}
		select {
		case <-l.landed:
		case <-e.stop.Done():
		}
	}
}

func (e *endpoint) Signal(to int, text []byte) error {
	if _, err := e.peer(to); err != nil {
		return err
	}
	w, err := e.node.beside(e.ranks[to])
	if err != nil {
		return left(err)
	}
	return e.put(to, w, e.frame(note, to), text)
}

// Interrupt ends the waits.
func (e *endpoint) Interrupt(err error) { e.stop.Set(err) }

func (e *endpoint) Close() error {
	e.once.Do(func() {
		e.stop.Set(errClosed)
		e.bye(quit, 0)
		for at := range e.ranks {
			if at != e.self {
				_ = e.Flush(at) // what was not asked for is taken back
			}
		}
		e.notes.Close()
		g := e.group
		g.mu.Lock()
		g.closed, g.lanes, g.end = true, nil, nil
		g.mu.Unlock()
	})
	return nil
}

// bye tells the others of the group something that needs no connection.
func (e *endpoint) bye(k kind, off int64) {
	for at := range e.ranks {
		if at == e.self {
			continue
		}
		if w, err := e.node.beside(e.ranks[at]); err == nil {
			f := e.frame(k, at)
			f.off = off
			_ = w.send(f, nil) // one that has gone hears nothing
		}
	}
}

// Split meets the others over the ways there are.
func (e *endpoint) Split(ctx context.Context, name string, members []int) (transport.Endpoint, error) {
	ranks := make([]int, len(members))
	for i, m := range members {
		if m < 0 || m >= len(e.ranks) {
			return nil, fmt.Errorf("members %v: there is no rank %d", members, m)
		}
		ranks[i] = e.ranks[m]
	}
	self := slices.Index(members, e.self)
	if self < 0 {
		return nil, fmt.Errorf("members %v: this rank, %d, is not among them", members, e.self)
	}
	id := groupID(fmt.Sprintf("%x/%s", e.group.id, name), ranks)
	s, err := e.node.enter(id, ranks, self)
	if err != nil {
		return nil, err
	}
	s.bye(come, 1)
	for at := range ranks {
		if at == self {
			continue
		}
		l, err := s.peer(at)
		if err == nil {
			err = s.meet(ctx, l, members[at])
		}
		if err != nil {
			s.withdraw()
			return nil, err
		}
	}
	return s, nil
}

// meet waits for another member of a split.
func (e *endpoint) meet(ctx context.Context, l *lane, name int) error {
	for {
		l.mu.Lock()
		there, changed, gone := l.there, l.changed, l.left
		l.mu.Unlock()
		switch {
		case there:
			return nil
		case gone != nil:
			return &transport.Absent{Rank: name, Err: gone}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-e.node.ctx.Done():
			return e.node.Err()
		}
	}
}

// withdraw takes back that this rank is at a split's meeting, which may be tried again.
func (e *endpoint) withdraw() {
	e.bye(come, 0)
	e.stop.Set(errClosed)
	e.notes.Close()
	e.group.mu.Lock()
	e.group.end = nil
	e.group.mu.Unlock()
}
