package tcp

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"sync"
	"testing"
	"time"
)

// crowd connects so many strangers to a rank, who say this and go silent. They go with the test.
func crowd(t *testing.T, address string, n int, say []byte) (gone *sync.WaitGroup) {
	t.Helper()
	gone = new(sync.WaitGroup)
	for range n {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := conn.Write(say); err != nil {
			continue // it was sent away before
		}
		gone.Go(func() {
			buf := make([]byte, 100)
			for err := error(nil); err == nil; {
				_, err = conn.Read(buf)
			}
		})
	}
	return gone
}

// Strangers who are silent from the start, and those who say a whole hello and are silent then, hold few descriptors, keep
// nobody out, and are sent away.
func TestSilentStrangers(t *testing.T) {
	hi := hello{from: 1, to: 0, links: 2}
	if _, err := rand.Read(hi.key[:]); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{"plain": {}, "secret": {Secret: testSecret}} {
		for what, say := range map[string][]byte{"silent": nil, "half a hello": hi.encode()[:20], "hello": hi.encode()} {
			t.Run(name+"/"+what, func(t *testing.T) {
				ends := open(t, 3, o)
				s := ends[0].site
				gone := crowd(t, ends[0].cards[0].Addresses[0], 300, say)
				ctx, cancel := context.WithTimeout(context.Background(), limit)
				defer cancel()
				var all sync.WaitGroup
				for _, e := range ends {
					all.Go(func() {
						p, err := e.Split(ctx, "beside them", []int{0, 1, 2})
						if err != nil {
							t.Error(err)
							return
						}
						if err := errors.Join(ring(p, e.rank, 3), p.Close()); err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				s.mu.Lock()
				held := s.waits
				s.mu.Unlock()
				if held != 0 {
					t.Errorf("%d strangers are held", held)
				}
				gone.Wait()
			})
		}
	}
}

// Whoever comes before this rank has met its world is let in if it belongs to it, and sent away if not.
func TestEarlyStrangers(t *testing.T) {
	s, err := openSite(context.Background(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.leave()
	_, port, err := net.SplitHostPort(s.ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", port)
	proof := []byte("what members know")
	member := hello{key: [32]byte{1}, from: 1, to: 0, links: 2}
	member.tag = member.tagged(proof)
	other := hello{key: [32]byte{1}, from: 2, to: 0, links: 2}
	gone := crowd(t, address, 20, other.encode())
	_ = crowd(t, address, 1, member.encode())
	for end := time.Now().Add(limit); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		came := s.waits
		s.mu.Unlock()
		if came == 21 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d of 21 have come", came)
		}
	}
	s.know(proof)
	gone.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits != 1 || len(s.held[member.key]) != 1 || s.held[member.key][0].hello.from != 1 {
		t.Errorf("%d are held: %v", s.waits, s.held)
	}
}
