package transport

import (
	"net"
	"sync"
	"time"
)

// Patience is how long one who connects is listened to before it has said who it is.
const Patience = 2 * time.Second

const (
	seats = 32                     // connections of whom nobody knows
	stay  = 100 * time.Millisecond // for so long one keeps its seat where others want it
)

// Lobby bounds the connections of those who have not said who they are: they hold few descriptors, and none of them keeps
// out who comes after it. Who knows the way says who it is in far less time than its seat is its own, and comes again otherwise.
type Lobby struct {
	mu     sync.Mutex
	guests []guest // the longest there first
	last   uint64
	moved  chan struct{} // closed when a seat is free
}

type guest struct {
	number uint64
	conn   net.Conn
	since  time.Time
}

// Enter gives a connection a seat, waiting until there is one, and has it closed when another one needs that. leave gives the seat
// back, and says whether the connection had it still: from then on it is not closed here. closed ends the wait: then ok is false, and
// the connection has no seat.
func (l *Lobby) Enter(conn net.Conn, closed <-chan struct{}) (leave func() bool, ok bool) {
	for {
		l.mu.Lock()
		if len(l.guests) < seats {
			break
		}
		wait := stay - time.Since(l.guests[0].since)
		if wait <= 0 {
			l.oust(1)
			break
		}
		if l.moved == nil {
			l.moved = make(chan struct{})
		}
		moved := l.moved
		l.mu.Unlock()
		select {
		case <-closed:
			return nil, false
		case <-moved:
		case <-time.After(wait):
		}
	}
	defer l.mu.Unlock()
	l.last++
	number := l.last
	l.guests = append(l.guests, guest{number, conn, time.Now()})
	return func() bool { return l.leave(number) }, true
}

func (l *Lobby) leave(number uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, g := range l.guests {
		if g.number == number {
			l.guests = append(l.guests[:i], l.guests[i+1:]...)
			l.free()
			return true
		}
	}
	return false
}

// oust closes the connections of the n that have been there for the longest; l.mu is held.
func (l *Lobby) oust(n int) {
	for _, g := range l.guests[:n] {
		_ = g.conn.Close() // who reads from it finds out
	}
	l.guests = append(l.guests[:0], l.guests[n:]...)
	l.free()
}

func (l *Lobby) free() {
	if l.moved != nil {
		close(l.moved)
		l.moved = nil
	}
}

// Clear closes the connections of all: where there are no descriptors left those who are known come first.
func (l *Lobby) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.oust(len(l.guests))
}
