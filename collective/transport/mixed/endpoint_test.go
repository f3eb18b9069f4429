package mixed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/volley-go/volley/collective/transport"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// Ranks have one number, whatever they have in shared memory: in errors and in notes.
func TestRanksKeepTheirNumbers(t *testing.T) {
	ends := open(t, "abcc", nil) // ranks 2 and 3 are 0 and 1 there
	if err := ends[2].Post(3, header(8, 1), make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	var m *transport.Mismatch
	if err := ends[3].Recv(2, header(8, 2), &transport.Sink{Into: make([]byte, 8)}); !errors.As(err, &m) || m.From != 2 {
		t.Errorf("another call's message gives %v", err)
	}
	checked, other := transport.Checked(ends[3]), header(8, 2)
	other.Sum = 1
	if err := ends[2].Post(3, other, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	var c *transport.Corrupt
	if err := checked.Recv(2, header(8, 2), &transport.Sink{Into: make([]byte, 8)}); !errors.As(err, &c) || c.From != 2 {
		t.Errorf("a broken message gives %v", err)
	}
	for _, from := range []int{0, 2} {
		if err := ends[from].Signal(3, []byte{byte(from)}); err != nil {
			t.Fatal(err)
		}
		if n, err := next(ends[3]); err != nil || n.From != from || len(n.Text) != 1 || n.Text[0] != byte(from) {
			t.Errorf("a note of rank %d comes as %+v, %v", from, n, err)
		}
	}
	if err := ends[2].Close(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []int{0, 3} {
		if n, err := next(ends[r]); err != nil || n.From != 2 || !errors.Is(n.Err, transport.ErrLeft) {
			t.Errorf("rank %d hears %+v, %v of rank 2, which has left", r, n, err)
		}
	}
	if err := ends[3].Close(); err != nil {
		t.Fatal(err)
	}
	for n := range ends[3].Notes() { // it heard of rank 2 once
		t.Errorf("another note: %+v", n)
	}
	for _, r := range []int{-1, 4, 0} {
		if ends[0].Post(r, header(8, 1), make([]byte, 8)) == nil {
			t.Errorf("rank 0 sends to rank %d", r)
		}
	}
}

// A rank that waits in shared memory goes on sending what its sockets have not taken yet, or
// these ranks would wait for each other in a circle.
func TestSendsWhileItWaitsNear(t *testing.T) {
	const n = 64 << 20 // much more than sockets take
	long := bytes.Repeat([]byte{7}, n)
	each(t, open(t, "aab", nil), func(e transport.Endpoint) error {
		switch e.Rank() {
		case 0: // sends far, and then waits for rank 1
			if err := e.Post(2, header(n, 1), long); err != nil {
				return err
			}
			if err := e.Recv(1, header(8, 1), &transport.Sink{Into: make([]byte, 8)}); err != nil {
				return err
			}
			return e.Flush(2)
		case 1: // waits for rank 2, and then sends to rank 0
			if err := e.Recv(2, header(8, 1), &transport.Sink{Into: make([]byte, 8)}); err != nil {
				return err
			}
			if err := e.Post(0, header(8, 1), make([]byte, 8)); err != nil {
				return err
			}
			return e.Flush(0)
		}
		got := make([]byte, n) // takes all of rank 0's, and then sends to rank 1
		if err := e.Recv(0, header(n, 1), &transport.Sink{Into: got}); err != nil {
			return err
		}
		if !bytes.Equal(got, long) {
			return errors.New("the long message is wrong")
		}
		if err := e.Post(1, header(8, 1), make([]byte, 8)); err != nil {
			return err
		}
		return e.Flush(1)
	})
}

// Who waits for a rank that shares its memory is interrupted as who waits for another one.
func TestInterruptsBothWays(t *testing.T) {
	ends := open(t, "aab", nil)
	why := errors.New("enough")
	ends[0].Interrupt(why)
	for _, from := range []int{1, 2} {
		if err := ends[0].Recv(from, header(8, 1), &transport.Sink{Into: make([]byte, 8)}); !errors.Is(err, why) {
			t.Errorf("Recv from rank %d: %v", from, err)
		}
	}
}

// A split meets as a world does: it is of one way where its ranks are, and is mixed again.
func TestSplits(t *testing.T) {
	if !onLinux {
		return
	}
	ends := open(t, "aabbc", nil)
	for want, members := range map[string][]int{"shm": {1, 0}, "tcp": {4, 2, 0}, Name: {3, 4, 2}} {
		some := make([]transport.Endpoint, len(members))
		for i, m := range members {
			some[i] = ends[m]
		}
		each(t, some, func(e transport.Endpoint) error {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			s, err := e.Split(ctx, "some", members)
			if err != nil {
				return err
			}
			if s.Name() != want || members[s.Rank()] != e.Rank() {
				return fmt.Errorf("the split of %v is over %s, want %s", members, s.Name(), want)
			}
			next, last := (s.Rank()+1)%s.Size(), (s.Rank()+s.Size()-1)%s.Size()
			if err := s.Post(next, header(1, 1), []byte{byte(s.Rank())}); err != nil {
				return err
			}
			got := make([]byte, 1)
			if err := s.Recv(last, header(1, 1), &transport.Sink{Into: got}); err != nil {
				return err
			}
			if int(got[0]) != last {
				return fmt.Errorf("the message of rank %d says %d", last, got[0])
			}
			return errors.Join(s.Flush(next), s.Close())
		})
	}
}
