package rendezvous

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/secret"
)

// tidings is how often rank 0 tells those who wait who is missing.
const tidings = 200 * time.Millisecond

// reception is rank 0's side of a meeting.
type reception struct {
	world World
	guard *secret.Guard
	lobby transport.Lobby

	mu      sync.Mutex
	cards   [][]byte
	guests  []net.Conn
	missing int
	all     chan struct{}
	refused string // the last refusal, for the error of a meeting that fails
}

// host0 listens as rank 0 until all have come.
func host0(ctx context.Context, w World, address string, g *secret.Guard, card []byte) (*Table, error) {
	ln, err := door(ctx, w, address)
	if err != nil {
		if ctx.Err() != nil {
			return nil, absent(ctx, others(w.Size), err.Error())
		}
		return nil, err
	}
	table := &Table{Cards: make([][]byte, w.Size)}
	if _, err := rand.Read(table.Key[:]); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	r := &reception{world: w, guard: g, cards: table.Cards, guests: make([]net.Conn, w.Size), missing: w.Size - 1, all: make(chan struct{})}
	r.cards[0] = card
	inner, cancel := context.WithCancel(ctx)
	var doors sync.WaitGroup
	doors.Go(func() { r.open(inner, ln, &doors) })
	err = r.wait(ctx, table)
	cancel()
	_ = ln.Close() // nobody else is expected
	r.mu.Lock()
	for _, c := range r.guests {
		if c != nil {
			_ = c.Close() // all was said
		}
	}
	r.mu.Unlock()
	doors.Wait()
	if err != nil {
		return nil, err
	}
	return table, nil
}

// door is what rank 0 listens with.
func door(ctx context.Context, w World, address string) (net.Listener, error) {
	if w.Listener == nil {
		return listen(ctx, address)
	}
	lent, ok := w.Listener.(interface {
		net.Listener
		SetDeadline(t time.Time) error
	})
	if !ok {
		return nil, fmt.Errorf("a %T cannot be lent: it has no deadline", w.Listener)
	}
	return &borrowed{lent, lent.SetDeadline}, lent.SetDeadline(time.Time{})
}

// borrowed is a listener that stays open. Who comes between two meetings waits for the next.
type borrowed struct {
	net.Listener
	deadline func(t time.Time) error
}

// Close ends a wait.
func (b *borrowed) Close() error { return b.deadline(time.Unix(1, 0)) }

// listen opens the meeting's port: on the loopback device alone where the address is
// on that, else on all, since a host may know itself by another address than the
// others do.
func listen(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	at := net.JoinHostPort("", port)
	if len(ips) > 0 && ips[0].IsLoopback() {
		at = net.JoinHostPort(ips[0].String(), port)
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", at)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w: by another rank 0, or by another program: then choose another port by VOLLEY_PORT, the same for all ranks", err)
	}
	return ln, err
}

// open takes connections until the listener is closed.
func (r *reception) open(ctx context.Context, ln net.Listener, doors *sync.WaitGroup) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			r.lobby.Clear() // out of files
			time.Sleep(10 * time.Millisecond)
			continue
		}
		leave, ok := r.lobby.Enter(conn, ctx.Done())
		if !ok {
			_ = conn.Close() // the meeting is over
			return
		}
		doors.Go(func() {
			defer leave()
			r.greet(ctx, conn, leave)
		})
	}
}

// greet hears who comes and keeps the connection of one who may join.
func (r *reception) greet(ctx context.Context, raw net.Conn, leave func() bool) {
	inner, cancel := context.WithTimeout(ctx, transport.Patience)
	defer cancel()
	defer context.AfterFunc(inner, func() { _ = raw.SetDeadline(time.Unix(1, 0)) })()
	conn, err := r.guard.Server(inner, raw)
	var m message
	if err == nil {
		err = receive(conn, &m, bound(1))
	}
	if err == nil && !leave() { // from here on it is known
		err = net.ErrClosed
	}
	if err == nil {
		err = r.admit(conn, &m)
		if err != nil {
			_ = send(conn, &message{Kind: "refused", Text: err.Error()}) // it will see the end at least
		}
	}
	var plain tls.RecordHeaderError
	if errors.As(err, &plain) { // it has no secret, and understands this
		_ = send(raw, &message{Kind: "refused", Text: "this meeting has a secret and it has none: set VOLLEY_SECRET_FILE on all ranks, or on none"})
		finish(raw)
	}
	if r.guard == nil && errors.Is(err, errStrange) { // it may have one, and understands this
		_, _ = raw.Write(alert)
		finish(raw)
	}
	if err != nil {
		r.mu.Lock()
		r.refused = fmt.Sprintf("refused %s: %v", raw.RemoteAddr(), err)
		r.mu.Unlock()
		_ = raw.Close()
	}
}

// alert is what TLS says to a client that is not let in: a record of the kind 21, version 3.3, two bytes long: fatal, access denied.
var alert = []byte{21, 3, 3, 0, 2, 2, 49}

// finish lets the other side read the last word: where something that it said is unread the
// system would take that word back.
func finish(raw net.Conn) {
	if half, ok := raw.(*net.TCPConn); ok {
		_ = half.CloseWrite() // the connection is given up in any case
	}
	_ = raw.SetReadDeadline(time.Now().Add(tidings))
	_, _ = io.Copy(io.Discard, io.LimitReader(raw, bound(1)))
}

// admit takes a rank in that belongs here.
func (r *reception) admit(conn net.Conn, m *message) error {
	w := &r.world
	switch {
	case m.Kind != "join":
		return errStrange
	case m.Size != w.Size || m.ID != w.ID:
		return fmt.Errorf("it is of a world of %d ranks %q, this is one of %d ranks %q", m.Size, m.ID, w.Size, w.ID)
	case m.Rank < 1 || m.Rank >= w.Size:
		return fmt.Errorf("there is no rank %d to come among %d", m.Rank, w.Size)
	case len(m.Card) > maxCard:
		return errStrange
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.guests[m.Rank] != nil {
		return fmt.Errorf("rank %d is there already, from %s", m.Rank, r.guests[m.Rank].RemoteAddr())
	}
	r.guests[m.Rank], r.cards[m.Rank] = conn, m.Card
	if r.missing--; r.missing == 0 {
		close(r.all)
		return nil
	}
	return send(conn, r.news()) // a message fits the socket: this does not wait
}

// wait returns when all have come and been told.
func (r *reception) wait(ctx context.Context, table *Table) error {
	tick := time.NewTicker(tidings)
	defer tick.Stop()
	for {
		select {
		case <-r.all:
			return r.tell(&message{Kind: "table", Key: table.Key[:], Cards: table.Cards})
		case <-tick.C:
			news := r.tidings()
			watched(ctx, news.Missing)
			if err := r.tell(news); err != nil {
				return err
			}
		case <-ctx.Done():
			news := r.tidings()
			_ = r.tell(news) // the last; who does not hear it has its own end
			r.mu.Lock()
			defer r.mu.Unlock()
			return absent(ctx, news.Missing, r.refused)
		}
	}
}

func (r *reception) tidings() *message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.news()
}

func (r *reception) news() *message {
	m := &message{Kind: "wait"}
	for rank := 1; rank < len(r.guests); rank++ {
		if r.guests[rank] == nil {
			m.Missing = append(m.Missing, rank)
		}
	}
	return m
}

// tell sends a message to all who are there. One who has gone is missing again, or, at
// the end, an error.
func (r *reception) tell(m *message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for rank, conn := range r.guests {
		if conn == nil {
			continue
		}
		err := conn.SetDeadline(time.Now().Add(time.Second))
		if err == nil {
			err = send(conn, m)
		}
		if err == nil {
			continue
		}
		if m.Kind == "table" {
			return fmt.Errorf("rank %d left the meeting: %w", rank, err)
		}
		_ = conn.Close() // it has gone
		r.guests[rank], r.cards[rank] = nil, nil
		select {
		case <-r.all: // it was the last for a moment: the table's turn will tell
			return fmt.Errorf("rank %d left the meeting: %w", rank, err)
		default:
			r.missing++
		}
	}
	return nil
}
