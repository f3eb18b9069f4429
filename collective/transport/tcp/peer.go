package tcp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/processors"
)

// looks is how often who waits looks at the socket before it sleeps.
type looks struct{ message, rest int }

// For a message some tens of microseconds, about what sleeping and the way back would
// cost; for the rest of one less, since what comes meanwhile comes in one piece then.
// Where ranks are more than processors whoever is to send may wait for this very
// processor: then nobody looks again.
var (
	patient = looks{message: 64, rest: 8}
	crowded = looks{}
)

// looksAmong is how ranks wait that are known by these cards, one of them own.
func looksAmong(cards []card, own string) looks {
	here := 0
	for i := range cards {
		if cards[i].Machine == own {
			here++
		}
	}
	if here > processors.Count {
		return crowded
	}
	return patient
}

// verdict is how long an ended connection waits for what is read on the one with the notes to
// say why.
const verdict = 50 * time.Millisecond

// link is one connection to a peer.
type link struct {
	conn net.Conn
	in   incoming
	out  *outgoing
}

func newLink(conn net.Conn, often looks, failed func(error), b *backlog) (*link, error) {
	if err := near(conn); err != nil {
		return nil, err
	}
	d, err := newDirect(conn, b)
	if err != nil {
		return nil, err
	}
	l := &link{conn: conn, out: newOutgoing(conn, d, failed, b)}
	l.in.read = func(p []byte, wait bool) (int, error) {
		if d == nil {
			return conn.Read(p)
		}
		if wait {
			return d.read(p, often.message)
		}
		return d.read(p, often.rest)
	}
	return l, nil
}

// peer is another rank as one rank sees it.
type peer struct {
	rank  int
	notes *link
	data  []*link
	lost  *transport.Stop
	skip  *frame // the first frame of a message that was another call's, whose payload is unread
	owner *endpoint
}

func newPeer(e *endpoint, rank int, conns []net.Conn) (*peer, error) {
	p := &peer{rank: rank, lost: transport.NewStop(), owner: e}
	for i, c := range conns {
		var b *backlog
		if i > 0 {
			b = &e.backlog
		}
		l, err := newLink(c, e.often, p.broken, b)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			p.notes = l
		} else {
			p.data = append(p.data, l)
		}
	}
	return p, nil
}

// listen hands on the notes that come, until the connection ends.
func (p *peer) listen() {
	in := &incoming{read: func(b []byte, _ bool) (int, error) { return p.notes.conn.Read(b) }}
	for {
		var f frame
		err := in.next(&f)
		if err == nil && f.kind == data {
			err = fmt.Errorf("%w: a message among the notes", errFrame)
		}
		var text []byte
		if err == nil {
			text = make([]byte, f.size) // at most maxNote
			err = in.payload(&f, text)
		}
		switch {
		case errors.Is(err, io.EOF) && p.owner.closed.Load(): // it has heard the goodbye of this side
			p.left()
			return
		case errors.Is(err, io.EOF):
			p.lose(errors.New("its connection ended without a word"))
			return
		case err != nil:
			p.lose(err)
			return
		case f.kind == goodbye && len(text) == 0:
			p.left()
			p.hangUp()
			return
		case f.kind == goodbye:
			p.lose(fmt.Errorf("it gave up: %s", text))
			return
		}
		p.owner.notes.Put(transport.Note{From: p.rank, Text: text})
	}
}

// broken is a connection that failed. What comes on the one with the notes may know
// better why: the rank left, or gave up.
func (p *peer) broken(err error) {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return // an interruption; the notes go on
	}
	late := time.NewTimer(verdict)
	defer late.Stop()
	select {
	case <-p.lost.Done():
	case <-late.C:
		p.lose(err)
	}
}

// lose ends the connections to a peer for good; only the first reason counts. The
// peer is told where it is its bytes that are wrong.
func (p *peer) lose(err error) {
	if !p.lost.Set(err) {
		return
	}
	if errors.Is(err, errFrame) {
		text := []byte(err.Error())
		_ = p.notes.out.put(frame{kind: goodbye, size: uint32(len(text))}, text, 0) // where it is gone it needs no reason
	}
	p.owner.notes.Put(transport.Note{From: p.rank, Err: err})
	p.close()
}

// left notes that a peer closed its endpoint. What it had sent can still be received.
func (p *peer) left() {
	if p.lost.Set(transport.ErrLeft) {
		p.owner.notes.Put(transport.Note{From: p.rank, Err: transport.ErrLeft})
	}
}

// hangUp ends the notes of this side: behind a goodbye, and as the answer to one.
func (p *peer) hangUp() {
	if half, ok := socketOf(p.notes.conn).(*net.TCPConn); ok {
		_ = half.CloseWrite() // fails where the connection has ended
	}
}

func (p *peer) close() {
	for _, l := range append([]*link{p.notes}, p.data...) {
		_ = socketOf(l.conn).Close() // it is being given up: its error changes nothing
	}
}

// socketOf is what an encrypted connection runs over. That one's own Close would wait to
// say so where nobody reads; a goodbye was said.
func socketOf(c net.Conn) net.Conn {
	if over, ok := c.(interface{ NetConn() net.Conn }); ok {
		return over.NetConn()
	}
	return c
}
