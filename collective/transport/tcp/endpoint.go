package tcp

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/volley-go/volley/collective/transport"
)

// linger bounds how long Close waits for the others to have heard its goodbye. Who closes a
// socket before resets what comes after, and who writes then learns of that first.
const linger = 300 * time.Millisecond

// endpoint is one rank.
type endpoint struct {
	rank    int
	peers   []*peer  // by rank; nil at its own
	site    *site    // nil where there are no others
	key     [32]byte // of the group
	cards   []card   // by rank
	closed  atomic.Bool
	stop    *transport.Stop
	notes   *transport.Mailbox
	once    sync.Once
	ears    sync.WaitGroup // the goroutines that listen for notes
	scratch []byte         // a segment on its way to Combine
	often   looks
	backlog backlog
}

func (e *endpoint) Rank() int                    { return e.rank }
func (e *endpoint) Size() int                    { return len(e.peers) }
func (e *endpoint) Name() string                 { return "tcp" }
func (e *endpoint) Notes() <-chan transport.Note { return e.notes.Notes() }

// Machines numbers those of the cards, which all ranks have, by their first rank.
func (e *endpoint) Machines() []int {
	number, of := map[string]int{}, make([]int, len(e.cards))
	for r := range e.cards {
		name := e.cards[r].Machine
		if _, seen := number[name]; !seen {
			number[name] = len(number)
		}
		of[r] = number[name]
	}
	return of
}

// peer finds a rank.
func (e *endpoint) peer(rank int) (*peer, error) {
	if rank < 0 || rank >= len(e.peers) {
		return nil, fmt.Errorf("there is no rank %d among %d", rank, len(e.peers))
	}
	if e.peers[rank] == nil {
		return nil, fmt.Errorf("rank %d has no connection to itself", rank)
	}
	return e.peers[rank], nil
}

func (e *endpoint) Post(to int, h *transport.Header, payload []byte) error {
	if err := e.stop.Err(); err != nil {
		return err
	}
	p, err := e.peer(to)
	if err != nil {
		return err
	}
	if err := p.lost.Err(); err != nil {
		return &Lost{to, err}
	}
	if int64(len(payload)) != h.Len {
		return fmt.Errorf("message to rank %d: %d bytes, its header says %d", to, len(payload), h.Len)
	}
	f := frame{kind: data, head: *h}
	for i := 0; ; i++ {
		f.size = uint32(min(segment, h.Len-f.off))
		if err := p.data[i%len(p.data)].out.put(f, payload[f.off:f.off+int64(f.size)], 0); err != nil {
			return e.why(p, err)
		}
		if f.off += int64(f.size); f.off == h.Len {
			return nil
		}
	}
}

func (e *endpoint) Flush(to int) error {
	p, err := e.peer(to)
	if err != nil {
		return err
	}
	for _, l := range p.data {
		if len(e.backlog.some) > 0 {
			e.backlog.finish(l.out, e.stop)
		}
		if failed := l.out.flush(); err == nil {
			err = failed
		}
	}
	if stopped := e.stop.Err(); stopped != nil {
		return stopped
	}
	if err != nil {
		return e.why(p, err)
	}
	return nil
}

// why is the error of a call that failed on a data connection.
func (e *endpoint) why(p *peer, err error) error {
	if stopped := e.stop.Err(); stopped != nil {
		return stopped
	}
	p.broken(err)
	if stopped := e.stop.Err(); stopped != nil {
		return stopped
	}
	return &Lost{p.rank, p.lost.Err()}
}

func (e *endpoint) Signal(to int, text []byte) error {
	p, err := e.peer(to)
	if err != nil {
		return err
	}
	if err := p.lost.Err(); err != nil {
		return &Lost{to, err}
	}
	if len(text) > maxNote {
		return fmt.Errorf("note of %d bytes, at most %d are allowed", len(text), maxNote)
	}
	err = p.notes.out.put(frame{kind: note, size: uint32(len(text))}, append([]byte(nil), text...), maxWaiting)
	if err != nil && err != errWaiting {
		go p.broken(err) // what the peer said before may be unread: the listener has the last word
		return nil
	}
	return err
}

// Interrupt ends the waits by a deadline that has passed; the connections with the
// notes have none.
func (e *endpoint) Interrupt(err error) {
	if !e.stop.Set(err) {
		return
	}
	for _, p := range e.peers {
		if p == nil {
			continue
		}
		for _, l := range p.data {
			_ = l.conn.SetDeadline(time.Unix(1, 0)) // fails only where it is closed, and nobody waits
		}
	}
}

func (e *endpoint) Close() error {
	e.once.Do(func() {
		e.closed.Store(true)
		e.Interrupt(errClosed)
		said := make(chan struct{})
		go func() {
			defer close(said)
			for _, p := range e.peers {
				if p != nil && p.lost.Err() == nil {
					_ = p.notes.out.put(frame{kind: goodbye}, nil, 0) // who is gone misses nothing
				}
			}
			for _, p := range e.peers {
				if p != nil {
					_ = p.notes.out.flush()
					p.hangUp()
				}
			}
			e.ears.Wait() // they hear that the others hang up, too
		}()
		late := time.NewTimer(linger)
		defer late.Stop()
		select {
		case <-said:
		case <-late.C:
		}
		e.notes.Close()
		for _, p := range e.peers {
			if p == nil {
				continue
			}
			for _, l := range p.data {
				drain(l.conn)
			}
			p.close()
		}
		<-said
		e.site.leave()
	})
	return nil
}

// room is where a segment is read that goes to Combine: aligned as any element and
// any vector of them wants it.
func (e *endpoint) room() []byte {
	if e.scratch == nil {
		b := make([]byte, segment+64)
		at := -int(uintptr(unsafe.Pointer(&b[0]))) & 63
		e.scratch = b[at : at+segment : at+segment]
	}
	return e.scratch
}
