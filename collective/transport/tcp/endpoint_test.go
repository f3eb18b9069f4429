package tcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

func fill(n, seed int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*3 + seed + i>>9)
	}
	return p
}

// returns fails if f does not return soon.
func returns(t *testing.T, what string, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		t.Fatalf("%s hangs", what)
		return nil
	}
}

// Post hands over what no socket takes; Flush waits for it until it is interrupted, and
// then nobody reads the payload any more. Notes pass all the time.
func TestPostDoesNotWait(t *testing.T) {
	for name, o := range map[string]Options{"plain": {}, "striped": {Connections: 3}, "secret": {Secret: testSecret}} {
		t.Run(name, func(t *testing.T) {
			ends := open(t, 2, o)
			payload := fill(48<<20, 0)
			h := &transport.Header{Seq: 1, Len: int64(len(payload))}
			if err := returns(t, "Post", func() error { return ends[0].Post(1, h, payload) }); err != nil { // nobody receives
				t.Fatal(err)
			}
			if err := ends[0].Signal(1, []byte("beside")); err != nil {
				t.Error(err)
			}
			if n := <-ends[1].Notes(); string(n.Text) != "beside" {
				t.Errorf("note %+v", n)
			}
			why := errors.New("enough")
			time.AfterFunc(30*time.Millisecond, func() { ends[0].Interrupt(why) })
			if err := returns(t, "Flush", func() error { return ends[0].Flush(1) }); err != why {
				t.Errorf("Flush returns %v", err)
			}
			clear(payload) // the race detector would see a reader
			if err := ends[0].Signal(1, []byte("after")); err != nil {
				t.Error(err)
			}
			if n := <-ends[1].Notes(); string(n.Text) != "after" {
				t.Errorf("note %+v", n)
			}
		})
	}
}

// What a rank sent before it left can be received; then its leaving shows.
func TestLeft(t *testing.T) {
	ends := open(t, 2, Options{})
	sent := fill(100_000, 1)
	h := &transport.Header{Seq: 1, Len: int64(len(sent))}
	if err := ends[1].Post(0, &transport.Header{Seq: 9, Len: 8}, make([]byte, 8)); err != nil { // which nobody reads
		t.Fatal(err)
	}
	if err := errors.Join(ends[0].Post(1, h, sent), ends[0].Flush(1), ends[0].Close()); err != nil {
		t.Fatal(err)
	}
	if n := <-ends[1].Notes(); !errors.Is(n.Err, transport.ErrLeft) {
		t.Errorf("note %+v", n)
	}
	got := make([]byte, len(sent))
	if err := ends[1].Recv(0, h, &transport.Sink{Into: got}); err != nil || !bytes.Equal(got, sent) {
		t.Errorf("the last message: %v", err)
	}
	err := returns(t, "Recv", func() error { return ends[1].Recv(0, h, &transport.Sink{Into: got}) })
	if l := (*Lost)(nil); !errors.As(err, &l) || l.Rank != 0 || !errors.Is(err, transport.ErrLeft) {
		t.Errorf("then Recv returns %v", err)
	}
	if err := ends[1].Post(0, h, sent); !errors.Is(err, transport.ErrLeft) {
		t.Errorf("and Post %v", err)
	}
	if err := ends[0].Post(1, h, sent); !errors.Is(err, errClosed) {
		t.Errorf("Post on a closed endpoint returns %v", err)
	}
}

// A rank that leaves while others send it notes has left and is not lost: what it said last
// is heard before their sending's failure counts.
func TestLeftBesideNotes(t *testing.T) {
	for name, o := range map[string]Options{"plain": {}, "secret": {Secret: testSecret}} {
		t.Run(name, func(t *testing.T) {
			for range 10 {
				ends := open(t, 3, o)
				var all sync.WaitGroup
				for _, e := range ends[1:] {
					all.Go(func() {
						for {
							if err := e.Signal(0, []byte("beat")); err != nil {
								if !errors.Is(err, transport.ErrLeft) {
									t.Errorf("a note to it gives %v", err)
								}
								return
							}
						}
					})
				}
				if n := <-ends[0].Notes(); n.Err != nil {
					t.Errorf("note %+v", n)
				}
				if err := ends[0].Close(); err != nil {
					t.Error(err)
				}
				for _, e := range ends[1:] {
					if n := <-e.Notes(); !errors.Is(n.Err, transport.ErrLeft) {
						t.Errorf("note %+v", n)
					}
				}
				all.Wait()
			}
		})
	}
}

// A waiting call ends when the other rank dies.
func TestKilled(t *testing.T) {
	for name, o := range map[string]Options{"plain": {}, "secret": {Secret: testSecret}} {
		t.Run(name, func(t *testing.T) {
			ends := open(t, 3, o)
			time.AfterFunc(30*time.Millisecond, ends[2].kill)
			err := returns(t, "Recv", func() error {
				return ends[0].Recv(2, &transport.Header{Seq: 1, Len: 8}, &transport.Sink{Into: make([]byte, 8)})
			})
			if l := (*Lost)(nil); !errors.As(err, &l) || l.Rank != 2 || errors.Is(err, transport.ErrLeft) {
				t.Errorf("Recv returns %v", err)
			}
			payload := make([]byte, 16<<20)
			err = returns(t, "Post", func() error {
				h := &transport.Header{Seq: 1, Len: int64(len(payload))}
				return errors.Join(ends[1].Post(2, h, payload), ends[1].Flush(2))
			})
			if l := (*Lost)(nil); !errors.As(err, &l) || l.Rank != 2 {
				t.Errorf("Post and Flush return %v", err)
			}
		})
	}
}

// Worlds of 2 to 64 ranks form wherever they meet. In less than a second on a machine of
// their own, which is BenchmarkWorld's to show: here others are at work.
func TestWorldForms(t *testing.T) {
	for n := 2; n <= 64; n *= 2 {
		for _, meeting := range meetings {
			t.Run(fmt.Sprintf("%d/%s", n, meeting), func(t *testing.T) {
				start := time.Now()
				ends := openAt(t, meetingAt(t, meeting), n, Options{})
				t.Logf("%d ranks met in %v", n, time.Since(start))
				errs := make([]error, n)
				var all sync.WaitGroup
				for r, e := range ends {
					all.Go(func() { errs[r] = ring(e, r, n) })
				}
				all.Wait()
				if err := errors.Join(errs...); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// BenchmarkWorld is the time until a world of goroutines has met and every pair is connected.
func BenchmarkWorld(b *testing.B) {
	for _, n := range []int{2, 8, 64} {
		for _, meeting := range meetings {
			b.Run(fmt.Sprintf("ranks=%d/meeting=%s", n, meeting), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					address := meetingAt(b, meeting)
					b.StartTimer()
					ends := openAt(b, address, n, Options{})
					b.StopTimer()
					for _, e := range ends {
						if err := e.Close(); err != nil {
							b.Error(err)
						}
					}
					b.StartTimer()
				}
			})
		}
	}
}

// A world of many ranks splits, and splits again after it
// was interrupted and without those who are gone, over the ports it has.
func TestSplitsOfManyRanks(t *testing.T) {
	const n = 64
	ends := open(t, n, Options{})
	ends[5].kill()
	for _, e := range ends {
		e.Interrupt(errors.New("a rank is gone"))
	}
	var members []int
	for r := n - 1; r >= 0; r -= 3 {
		members = append(members, r) // 63, 60 … 0: without 5
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	errs := make([]error, len(members))
	var all sync.WaitGroup
	for i, m := range members {
		all.Go(func() {
			errs[i] = func() error {
				s, err := ends[m].Split(ctx, "survivors", members)
				if err != nil {
					return err
				}
				defer s.Close()
				s, err = s.Split(ctx, "again", seq(len(members)))
				if err != nil {
					return err
				}
				defer s.Close()
				return ring(s, i, len(members))
			}()
		})
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("rank %d: %v", members[i], err)
		}
	}
}

func seq(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

// ring sends a message to the next rank and takes one from the one before.
func ring(s transport.Endpoint, rank, size int) error {
	if s.Rank() != rank || s.Size() != size {
		return fmt.Errorf("it is rank %d of %d", s.Rank(), s.Size())
	}
	h := &transport.Header{Seq: 1, Len: 1000}
	out, got := fill(1000, rank), make([]byte, 1000)
	next, before := (rank+1)%size, (rank+size-1)%size
	if err := s.Post(next, h, out); err != nil {
		return err
	}
	if err := s.Recv(before, h, &transport.Sink{Into: got}); err != nil {
		return err
	}
	if !bytes.Equal(got, fill(1000, before)) {
		return errors.New("a wrong message")
	}
	return s.Flush(next)
}

func TestSplitRefuses(t *testing.T) {
	ends := open(t, 3, Options{})
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	for _, c := range []struct {
		members []int
		want    string
	}{
		{[]int{0, 3}, `split "x": there is no rank 3 among 3`},
		{[]int{1, 2}, `split "x": rank 0 is not among its members`},
		{[]int{0, 1, 1}, `split "x": rank 1 is there twice`},
		{[]int{0, 2}, `split "x": no connection with rank 1: context deadline exceeded`},
	} {
		if _, err := ends[0].Split(ctx, "x", c.members); err == nil || err.Error() != c.want {
			t.Errorf("Split(%v): %v, want %s", c.members, err, c.want)
		}
	}
	if err := ends[1].Close(); err != nil {
		t.Fatal(err)
	}
	if n := <-ends[2].Notes(); n.From != 1 {
		t.Errorf("note %+v", n)
	}
	ctx, cancel = context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, members := range [][]int{{2, 1}, {1, 2}} {
		if _, err := ends[2].Split(ctx, "y", members); !errors.Is(err, transport.ErrLeft) || !strings.Contains(err.Error(), "rank 1") {
			t.Errorf("a split with a rank that has left: %v", err)
		}
		if ctx.Err() != nil {
			t.Error("it waits for who has left until its context ends")
		}
	}
	alone, err := ends[2].Split(ctx, "alone", []int{2})
	if err != nil || alone.Size() != 1 || alone.Rank() != 0 {
		t.Fatalf("alone: %v", err)
	}
	if err := alone.Close(); err != nil {
		t.Error(err)
	}
}

// Strangers at a rank's port are sent away, and the ranks meet all the same.
func TestStrangers(t *testing.T) {
	for name, o := range map[string]Options{"plain": {}, "secret": {Secret: testSecret}} {
		t.Run(name, func(t *testing.T) {
			ends := open(t, 2, o)
			address := ends[0].cards[0].Addresses[0]
			right := hello{key: [32]byte{1}, from: 1, to: 0, links: 2}
			bent := right.encode()
			bent[20] ^= 1
			for what, b := range map[string][]byte{
				"HTTP": []byte(strings.Repeat("GET / HTTP/1.1\r\n", 8)), "damaged": bent, "zeros": make([]byte, helloSize),
			} {
				conn, err := net.Dial("tcp", address)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := conn.Write(b); err != nil {
					t.Error(err)
				}
				if err := conn.SetReadDeadline(time.Now().Add(limit)); err != nil {
					t.Error(err)
				}
				buf := make([]byte, 100)
				for err = nil; err == nil; {
					_, err = conn.Read(buf)
				}
				if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
					t.Errorf("%s is listened to", what)
				}
				_ = conn.Close()
			}
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			defer cancel()
			var all sync.WaitGroup
			for _, e := range ends {
				all.Go(func() {
					s, err := e.Split(ctx, "after them", []int{0, 1})
					if err != nil {
						t.Error(err)
						return
					}
					if err := errors.Join(ring(s, e.rank, 2), s.Close()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		})
	}
}

// Without the secret nobody comes into a world, not even with its key.
func TestNobodyJoinsWithoutTheSecret(t *testing.T) {
	ends := open(t, 2, Options{Secret: testSecret})
	h := hello{key: ends[0].key, from: 1, to: 0, links: 2}
	for what, other := range map[string][]byte{"none": nil, "another": []byte("known to somebody else altogether")} {
		stranger := &site{guard: guardOf(t, other)}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		if c, err := stranger.dial(ctx, ends[0].cards[0].Addresses[0], &h); err == nil {
			t.Errorf("%s: it is welcome", what)
			_ = c.Close()
		}
		cancel()
	}
}
