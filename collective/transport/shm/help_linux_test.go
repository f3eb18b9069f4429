package shm

import (
	"bytes"
	"errors"
	"sync"
	"testing"

	"github.com/volley-go/volley/collective/transport"
)

// long has contents that tell its parts and messages apart.
func long(n, message int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i/part*31 + i + message*7)
	}
	return b
}

// Long messages of a writer that has time arrive whole and in order however they are
// shared, and both ways are tried.
func TestLongMessagesAreShared(t *testing.T) {
	ends := group(t, 2)
	a, b := ends[0].Endpoint.(*endpoint), ends[1].Endpoint.(*endpoint)
	if a.seg.rank(1).noread.Load() != 0 {
		t.Log("other processes' memory cannot be read here: messages pass through chunks")
	}
	const messages = 3 * tries
	n := 9*part + 100
	var both sync.WaitGroup
	both.Go(func() {
		for i := range messages {
			sent := long(n, i)
			if err := a.Post(1, &transport.Header{Seq: uint64(i), Len: int64(n)}, sent); err != nil {
				t.Error(err)
				return
			}
			if err := a.Flush(1); err != nil {
				t.Error(err)
				return
			}
			clear(sent) // nobody reads it any more
		}
	})
	both.Go(func() {
		for i := range messages {
			got, at := make([]byte, n), 0
			sink := &transport.Sink{Into: got}
			if i%2 == 1 {
				sink.Combine = func(off int, part []byte) {
					if off != at {
						t.Errorf("message %d: a part at %d comes after %d bytes", i, off, at)
					}
					at += copy(got[off:], part)
				}
			}
			if err := b.Recv(0, &transport.Header{Seq: uint64(i), Len: int64(n)}, sink); err != nil {
				t.Error(err)
				return
			}
			for k, want := range long(n, i) {
				if got[k] != want {
					t.Errorf("message %d: byte %d is %d, not %d", i, k, got[k], want)
					return
				}
			}
		}
	})
	both.Wait()
}

// A message that its reader does not want is dropped with the parts of it that the
// writer has laid into the chunks; the next one is read as if it had not been.
func TestDropOfSharedMessage(t *testing.T) {
	ends := group(t, 2)
	a, b := ends[0].Endpoint.(*endpoint), ends[1].Endpoint.(*endpoint)
	if a.seg.rank(1).noread.Load() != 0 {
		t.Log("other processes' memory cannot be read here: messages pass through chunks")
		return
	}
	n := 4 * part
	sent := [][]byte{long(n, 0), long(n, 1)}
	for i, message := range sent {
		if err := a.Post(1, &transport.Header{Seq: uint64(i), Len: int64(n)}, message); err != nil {
			t.Fatal(err)
		}
		if err := a.Flush(1); err != nil { // lays all of it: nobody reads yet
			t.Fatal(err)
		}
	}
	if got := a.lanes[1].out.helped.Load(); got != 8 {
		t.Fatalf("%d parts were laid, 8 must be", got)
	}
	into := make([]byte, n)
	var wrong *transport.Mismatch
	if err := b.Recv(0, &transport.Header{Seq: 7, Len: int64(n)}, &transport.Sink{Into: into}); !errors.As(err, &wrong) {
		t.Fatalf("another message than expected: %v", err)
	}
	if err := b.Recv(0, &transport.Header{Seq: 1, Len: int64(n)}, &transport.Sink{Into: into}); err != nil {
		t.Fatal(err)
	}
	for k, want := range sent[1] {
		if into[k] != want {
			t.Fatalf("byte %d is %d, not %d", k, into[k], want)
		}
	}
}

// Two ranks that send to each other lay parts for each other while they take, and both
// messages arrive whole, also where one way is taken alone.
func TestExchangeOfLongMessages(t *testing.T) {
	ends := group(t, 2)
	n := 3*parts*part + 100 // more than the chunks hold
	var both sync.WaitGroup
	for r := range ends {
		e := ends[r].Endpoint.(*endpoint)
		both.Go(func() {
			for i := range 3 * tries {
				sent, got := long(n, 2*i+r), make([]byte, n)
				if err := e.Post(1-r, &transport.Header{Seq: uint64(i), Len: int64(n)}, sent); err != nil {
					t.Error(err)
					return
				}
				if err := e.Recv(1-r, &transport.Header{Seq: uint64(i), Len: int64(n)}, &transport.Sink{Into: got}); err != nil {
					t.Error(err)
					return
				}
				if err := e.Flush(1 - r); err != nil {
					t.Error(err)
					return
				}
				clear(sent)
				if !bytes.Equal(got, long(n, 2*i+1-r)) {
					t.Errorf("rank %d: message %d is not what was sent", r, i)
					return
				}
			}
		})
	}
	both.Wait()
	a := ends[0].Endpoint.(*endpoint)
	if a.seg.rank(1).noread.Load() == 0 && a.lanes[1].helped == 0 {
		t.Error("no part was laid")
	}
}

// What reader and writer learn leads them to the faster way, and back to try the other.
func TestHabit(t *testing.T) {
	var h habit
	joint := 0
	for range again - tries {
		if h.together() {
			joint++
			h.learn(true, 1)
		} else {
			h.learn(false, 3)
		}
	}
	if joint != again-2*tries {
		t.Errorf("the faster way was taken %d times of %d", joint, again-tries)
	}
	if h.together() {
		t.Error("the other way is not tried")
	}
	for range tries {
		h.learn(false, 0.5) // it has become faster
	}
	if h.together() {
		t.Error("what has become slower is kept")
	}
}
