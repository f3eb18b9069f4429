package transport

import (
	"net"
	"sync"
	"testing"
	"time"
)

// However many come at once, few have a seat; who has had one for long goes for the next, and all are let in in the end.
func TestLobby(t *testing.T) {
	var l Lobby
	var all sync.WaitGroup
	for range 5 * seats {
		a, b := net.Pipe()
		leave, ok := l.Enter(a, nil)
		if !ok {
			t.Fatal("the lobby is closed")
		}
		l.mu.Lock()
		if len(l.guests) > seats {
			t.Errorf("%d have a seat", len(l.guests))
		}
		l.mu.Unlock()
		all.Go(func() {
			defer leave()
			defer b.Close()
			_, _ = a.Read(make([]byte, 1)) // until it is closed
		})
	}
	closed := make(chan struct{})
	close(closed)
	l.mu.Lock()
	for i := range l.guests {
		l.guests[i].since = time.Now().Add(time.Hour) // so that none of them goes
	}
	l.mu.Unlock()
	a, b := net.Pipe()
	defer b.Close()
	if _, ok := l.Enter(a, closed); ok {
		t.Error("a closed lobby lets in")
	}
	l.Clear()
	all.Wait()
	if len(l.guests) != 0 {
		t.Errorf("%d are still there", len(l.guests))
	}
}
