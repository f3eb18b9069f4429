package shm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/volley-go/volley/collective/transport"
)

// middle are lengths, in bytes, up to the longest that may pass through the ring: around those that a slot
// holds, that always pass, that are a part, that several are, and that the classes of routes end with.
var middle = func() (all []int) {
	for n := inline; n <= longest; n *= 2 {
		all = append(all, n-1, n, n+1)
	}
	return append(all, 1, 3*part-1, 3*part, 3*part+1, 7*part+100)
}()

// swap has two ranks send each other a message of n bytes at once. Who expects it says so before.
func swap(t *testing.T, a, b *endpoint, seq, n int, expected bool) {
	t.Helper()
	var ranks sync.WaitGroup
	for _, e := range []*endpoint{a, b} {
		ranks.Go(func() {
			to := 1 - e.rank
			h := transport.Header{Seq: uint64(seq), Len: int64(n)}
			sent, got := long(n, seq+e.rank), make([]byte, n+1)
			if expected {
				e.Expect(to, &h, got[:n])
			}
			err := e.Post(to, &h, sent)
			if err == nil {
				err = e.Recv(to, &h, &transport.Sink{Into: got[:n]})
			}
			if err := errors.Join(err, e.Flush(to)); err != nil {
				t.Errorf("rank %d, message %d of %d bytes: %v", e.rank, seq, n, err)
				return
			}
			clear(sent)
			if !bytes.Equal(got[:n], long(n, seq+to)) || got[n] != 0 {
				t.Errorf("message %d of %d bytes is not what rank %d sent", seq, n, to)
			}
		})
	}
	ranks.Wait()
}

// Messages of middle length arrive bit by bit, both ways and at once: all of them in place, where what is expected
// is written whole by its writer, or each by the way that its reader wants, which it tries.
func TestMiddleMessages(t *testing.T) {
	for _, adapts := range []bool{false, true} {
		a, b := pushing(t)
		if a == nil {
			return
		}
		a.adapts, b.adapts = adapts, adapts
		seq, ringed := 0, false
		for round := range 3 {
			for _, i := range rand.Perm(len(middle)) {
				n := middle[i]
				for range routeTries {
					seq++
					from, to := a, b
					if seq%2 == 0 {
						from, to = b, a
					}
					carry(t, from, to, seq, n, nil)
					ringed = ringed || to.ringed(to.lanes[from.rank].in, n)
					seq++
					swap(t, a, b, seq, n, (seq+round)%4 < 2)
				}
				if adapts || n <= ringAlways {
					continue
				}
				seq++
				before := a.lanes[1].pushedOut
				a.lanes[1].out.alone.Store(1) // else a writer may lay parts, as the reader found to be faster before
				carry(t, a, b, seq, n, func() {
					for end := time.Now().Add(limit); b.lanes[0].in.door.pushed.Load() != before+partsOf(n); time.Sleep(100 * time.Microsecond) {
						if time.Now().After(end) {
							t.Fatalf("%d of %d parts of an expected message of %d bytes come", b.lanes[0].in.door.pushed.Load()-before, partsOf(n), n)
						}
					}
				})
			}
			if t.Failed() {
				return
			}
		}
		if ringed != adapts {
			t.Errorf("adapting %t, some message was wanted through the ring: %t", adapts, ringed)
		}
	}
}

// answers begins the names of groups whose rank 1 answers messages of middle lengths until it is killed.
const answers = "answers "

func answerMain(name string) int {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	end, err := Join(ctx, name, 1, 2)
	for seq := 1; err == nil; seq++ {
		err = converse(end.(*endpoint), seq, nil)
	}
	fmt.Println(err)
	return 1
}

// converse has rank 0 send rank 1 a message, which sends it another one, at every third time both at once.
// into, where it is not nil, is where rank 0 receives.
func converse(e *endpoint, seq int, into []byte) error {
	n, to := middle[seq*7%len(middle)], 1-e.rank
	h := transport.Header{Seq: uint64(seq), Len: int64(n)}
	if into == nil {
		into = make([]byte, longest+1)
	}
	send := func() error { return e.Post(to, &h, long(n, seq+e.rank)) }
	receive := func() error {
		if err := e.Recv(to, &h, &transport.Sink{Into: into[:n]}); err != nil {
			return err
		}
		if !bytes.Equal(into[:n], long(n, seq+to)) {
			return fmt.Errorf("message %d of %d bytes is not what rank %d sent", seq, n, to)
		}
		return nil
	}
	first, second := send, receive
	if e.rank == 1 && seq%3 > 0 {
		first, second = receive, send
	}
	if seq%2 == 0 {
		e.Expect(to, &h, into[:n])
	}
	err := first()
	if err == nil && e.rank == 0 && seq%3 > 0 {
		err = e.Flush(to)
	}
	if err == nil {
		err = second()
	}
	if err == nil {
		err = e.Flush(to)
	}
	return err
}

// A rank that is killed among such messages keeps the other one in no call, and what had come was right.
func TestMiddleMessagesOfAKilledRank(t *testing.T) {
	if a, _ := pushing(t); a == nil {
		return
	}
	for trial := range 8 {
		name := fmt.Sprint(answers, trial, " ", time.Now().UnixNano())
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asRank+"="+name)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var killed sync.Once
		kill := func() { killed.Do(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }) }
		defer kill()
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		end, err := Join(ctx, name, 0, 2)
		if err != nil {
			t.Fatal(err)
		}
		e := end.(*endpoint)
		defer e.Close()
		go func() { // as package collective does
			for n := range e.Notes() {
				if n.Err != nil {
					e.Interrupt(errOver)
					return
				}
			}
		}()
		var rounds atomic.Int64
		into, got := make([]byte, longest+1), make(chan error, 1)
		go func() {
			var err error
			for seq := 1; err == nil; seq++ {
				err = converse(e, seq, into)
				rounds.Store(int64(seq))
			}
			rounds.Store(math.MaxInt64) // it has failed: the wait below is over
			got <- err
		}()
		for end := time.Now().Add(limit); rounds.Load() < int64(10*trial) && time.Now().Before(end); {
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Microsecond)
		}
		kill()
		if err := returns(t, "a call", func() error { return <-got }); err != errOver && !errors.Is(err, unix.ESRCH) {
			t.Errorf("trial %d: %v", trial, err)
		}
		_ = returns(t, "Forget", func() error { e.Forget(); return nil })
		clear(into)
		time.Sleep(time.Millisecond)
		if !bytes.Equal(into, make([]byte, len(into))) {
			t.Error("the rank that was killed has written")
		}
	}
}
