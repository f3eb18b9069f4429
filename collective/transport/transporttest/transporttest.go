// Package transporttest is the conformance suite that every transport passes.
package transporttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// End is one rank's endpoint. Kill, if there is one, ends the rank as a crash
// would, without Close.
type End struct {
	transport.Endpoint
	Kill func()
}

// limit bounds every wait of the suite.
const limit = 60 * time.Second

// Run checks endpoints made by open, which makes those of n ranks that have met.
func Run(t *testing.T, open func(t *testing.T, n int) []End) {
	t.Run("Exchange", func(t *testing.T) { exchange(t, open(t, 4)) })
	t.Run("Lengths", func(t *testing.T) { lengths(t, open(t, 2)) })
	t.Run("Order", func(t *testing.T) { order(t, open(t, 2)) })
	t.Run("Mismatch", func(t *testing.T) { mismatch(t, open(t, 2)) })
	t.Run("Ahead", func(t *testing.T) { ahead(t, open(t, 2)) })
	t.Run("AfterInterrupt", func(t *testing.T) { afterInterrupt(t, open(t, 3)) })
	t.Run("Leave", func(t *testing.T) { leave(t, open(t, 2)) })
	t.Run("Interrupt", func(t *testing.T) { interrupt(t, open(t, 3)) })
	t.Run("Notes", func(t *testing.T) { notes(t, open(t, 3)) })
	t.Run("Split", func(t *testing.T) { split(t, open(t, 4)) })
	t.Run("SplitAlone", func(t *testing.T) { splitAlone(t, open(t, 2)) })
}

// each runs f for every rank at once and fails with what any of them returns.
func each(t *testing.T, ends []End, f func(e End) error) {
	t.Helper()
	errs := make([]error, len(ends))
	var all sync.WaitGroup
	for r, e := range ends {
		all.Go(func() { errs[r] = f(e) })
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatal("the ranks hang")
	}
	for r, err := range errs {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

func closeAll(t *testing.T, ends []End) {
	for r, e := range ends {
		if err := e.Close(); err != nil {
			t.Errorf("rank %d: Close: %v", r, err)
		}
		if err := e.Close(); err != nil {
			t.Errorf("rank %d: second Close: %v", r, err)
		}
	}
}

// pattern is n bytes that depend on everything that a message is about.
func pattern(n, from, to, seq int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*7 + from*31 + to*17 + seq*101 + i>>8)
	}
	return p
}

func header(n, seq int) *transport.Header {
	return &transport.Header{Seq: uint64(seq), Len: int64(n), Call: transport.Call{Op: 3, Count: int64(n), Root: -1}}
}

// exchange: everybody sends to everybody at once, long messages too, and combines
// what comes.
func exchange(t *testing.T, ends []End) {
	defer closeAll(t, ends)
	for seq, n := range []int{8, 1 << 20, 64, 3 << 20} {
		each(t, ends, func(e End) error {
			for to := range ends {
				if to == e.Rank() {
					continue
				}
				if err := e.Post(to, header(n, seq+1), pattern(n, e.Rank(), to, seq)); err != nil {
					return err
				}
			}
			for from := range ends {
				if from == e.Rank() {
					continue
				}
				got, next := make([]byte, n), 0
				sink := &transport.Sink{Combine: func(off int, part []byte) {
					if off != next || off%64 != 0 {
						next = -1 // shows as wrong bytes
						return
					}
					copy(got[off:], part)
					next += len(part)
				}}
				if err := e.Recv(from, header(n, seq+1), sink); err != nil {
					return err
				}
				if next != n || !bytes.Equal(got, pattern(n, from, e.Rank(), seq)) {
					return fmt.Errorf("message of %d bytes from rank %d is wrong", n, from)
				}
			}
			for to := range ends {
				if to != e.Rank() {
					if err := e.Flush(to); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
}

func lengths(t *testing.T, ends []End) {
	defer closeAll(t, ends)
	sizes := []int{0, 1, 7, 63, 64, 65, 4095, 4096, 4097, 65535, 65536, 65537, 262144, 1<<20 + 13}
	each(t, ends, func(e End) error {
		other := 1 - e.Rank()
		for seq, n := range sizes {
			if err := e.Post(other, header(n, seq+1), pattern(n, e.Rank(), other, seq)); err != nil {
				return err
			}
			got := make([]byte, n)
			if err := e.Recv(other, header(n, seq+1), &transport.Sink{Into: got}); err != nil {
				return err
			}
			if !bytes.Equal(got, pattern(n, other, e.Rank(), seq)) {
				return fmt.Errorf("message of %d bytes is wrong", n)
			}
			if err := e.Flush(other); err != nil {
				return err
			}
		}
		return nil
	})
}

// order: a lane holds 8 messages before anyone receives, and keeps their order; a
// payload may change after Flush.
func order(t *testing.T, ends []End) {
	defer closeAll(t, ends)
	each(t, ends, func(e End) error {
		other := 1 - e.Rank()
		for round := range 50 {
			bufs := make([][]byte, 8)
			for i := range bufs {
				bufs[i] = pattern(100, e.Rank(), round, i)
				if err := e.Post(other, header(100, round*8+i+1), bufs[i]); err != nil {
					return err
				}
			}
			for i := range bufs {
				got := make([]byte, 100)
				if err := e.Recv(other, header(100, round*8+i+1), &transport.Sink{Into: got}); err != nil {
					return err
				}
				if !bytes.Equal(got, pattern(100, other, round, i)) {
					return fmt.Errorf("round %d, message %d is wrong", round, i)
				}
			}
			if err := e.Flush(other); err != nil {
				return err
			}
			for i := range bufs {
				clear(bufs[i])
			}
		}
		return nil
	})
}

func mismatch(t *testing.T, ends []End) {
	defer closeAll(t, ends)
	each(t, ends, func(e End) error {
		if e.Rank() == 0 {
			if err := e.Post(1, header(64, 1), make([]byte, 64)); err != nil {
				return err
			}
			return e.Post(1, header(9, 2), pattern(9, 0, 1, 2))
		}
		want := header(64, 1)
		want.Call.Op = 9
		got := bytes.Repeat([]byte{5}, 64)
		err := e.Recv(0, want, &transport.Sink{Into: got})
		var m *transport.Mismatch
		if !errors.As(err, &m) || m.From != 0 || m.Want != *want || m.Got.Call.Op != 3 {
			return fmt.Errorf("another call's message gives %v", err)
		}
		if got[0] != 5 {
			return errors.New("another call's payload was taken")
		}
		got = got[:9]
		if err := e.Recv(0, header(9, 2), &transport.Sink{Into: got}); err != nil || !bytes.Equal(got, pattern(9, 0, 1, 2)) {
			return fmt.Errorf("the message after it: %v", err)
		}
		return nil
	})
}

// ahead: both ranks post eight long messages before they receive any.
func ahead(t *testing.T, ends []End) {
	defer closeAll(t, ends)
	const n = 700_000
	each(t, ends, func(e End) error {
		other := 1 - e.Rank()
		for i := range 8 {
			if err := e.Post(other, header(n, i+1), pattern(n, e.Rank(), other, i)); err != nil {
				return err
			}
		}
		for i := range 8 {
			got := make([]byte, n)
			if err := e.Recv(other, header(n, i+1), &transport.Sink{Into: got}); err != nil {
				return err
			}
			if !bytes.Equal(got, pattern(n, other, e.Rank(), i)) {
				return fmt.Errorf("message %d is wrong", i)
			}
		}
		return e.Flush(other)
	})
}

// afterInterrupt: notes still pass, and those who are left can split off.
func afterInterrupt(t *testing.T, ends []End) {
	defer closeAll(t, ends)
	for _, e := range ends {
		e.Interrupt(errors.New("enough"))
	}
	if err := ends[0].Signal(1, []byte("still there")); err != nil {
		t.Fatal(err)
	}
	if n, err := next(ends[1]); err != nil || n.From != 0 || string(n.Text) != "still there" {
		t.Errorf("note %+v, %v", n, err)
	}
	each(t, ends[:2], func(e End) error {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		s, err := e.Split(ctx, "survivors", []int{0, 1})
		if err != nil {
			return err
		}
		other := 1 - s.Rank()
		if err := s.Post(other, header(8, 1), make([]byte, 8)); err != nil {
			return err
		}
		if err := s.Recv(other, header(8, 1), &transport.Sink{Into: make([]byte, 8)}); err != nil {
			return err
		}
		if err := s.Flush(other); err != nil {
			return err
		}
		return s.Close()
	})
}

// interrupt: waiting calls and later ones return the error at once.
func interrupt(t *testing.T, ends []End) {
	defer closeAll(t, ends)
	why := errors.New("enough")
	each(t, ends[:2], func(e End) error {
		if e.Rank() == 0 {
			time.Sleep(50 * time.Millisecond)
			ends[1].Interrupt(why)
			return nil
		}
		if err := e.Recv(2, header(8, 1), &transport.Sink{Into: make([]byte, 8)}); !errors.Is(err, why) {
			return fmt.Errorf("waiting Recv returns %v", err)
		}
		if err := e.Post(2, header(8, 1), make([]byte, 8)); !errors.Is(err, why) {
			return fmt.Errorf("later Post returns %v", err)
		}
		if err := e.Flush(2); !errors.Is(err, why) {
			return fmt.Errorf("later Flush returns %v", err)
		}
		return nil
	})
}

func next(e End) (transport.Note, error) {
	select {
	case n, ok := <-e.Notes():
		if !ok {
			return n, errors.New("the channel of notes is closed")
		}
		return n, nil
	case <-time.After(limit):
		return transport.Note{}, errors.New("no note comes")
	}
}

// notes: they pass although nobody receives on the lanes, and a rank that leaves or
// dies is told of.
func notes(t *testing.T, ends []End) {
	for i := range 100 {
		if err := ends[0].Signal(1, []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		n, err := next(ends[1])
		if err != nil || n.From != 0 || n.Err != nil || !bytes.Equal(n.Text, []byte{byte(i)}) {
			t.Fatalf("note %d is %+v, %v", i, n, err)
		}
	}
	leave := func() { _ = ends[2].Close() }
	if ends[2].Kill != nil {
		leave = ends[2].Kill
	}
	leave()
	for _, e := range ends[:2] {
		n, err := next(e)
		if err != nil || n.From != 2 || n.Err == nil {
			t.Errorf("rank %d hears %+v, %v when rank 2 is gone", e.Rank(), n, err)
		}
	}
	closeAll(t, ends[:2])
	if n, err := next(ends[1]); err == nil {
		t.Errorf("Notes has %+v after Close", n)
	}
}

func split(t *testing.T, ends []End) {
	defer closeAll(t, ends)
	each(t, ends, func(e End) error {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		members := []int{3, 1} // and in this order
		name := "odd"
		if e.Rank()%2 == 0 {
			members, name = []int{0, 2}, "even"
		}
		s, err := e.Split(ctx, name, members)
		if err != nil {
			return err
		}
		if s.Size() != 2 || members[s.Rank()] != e.Rank() || !strings.Contains(e.Name(), s.Name()) {
			return fmt.Errorf("rank %d of %d after the split", s.Rank(), s.Size())
		}
		other := 1 - s.Rank()
		if err := s.Post(other, header(9, 1), pattern(9, e.Rank(), 0, 0)); err != nil {
			return err
		}
		got := make([]byte, 9)
		if err := s.Recv(other, header(9, 1), &transport.Sink{Into: got}); err != nil {
			return err
		}
		if !bytes.Equal(got, pattern(9, members[other], 0, 0)) {
			return errors.New("the split's lanes lead elsewhere")
		}
		if err := s.Flush(other); err != nil {
			return err
		}
		return s.Close()
	})
}

// splitAlone: a split whose others do not come ends with its context.
func splitAlone(t *testing.T, ends []End) {
	defer closeAll(t, ends)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := ends[0].Split(ctx, "both", []int{0, 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a split that nobody joins returns %v", err)
	}
	if d := time.Since(start); d > limit {
		t.Errorf("and takes %v", d)
	}
}
