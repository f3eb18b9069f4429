package mixed

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/tcp"
	"github.com/volley-go/volley/collective/transport/transporttest"
)

// limit bounds every wait of these tests.
const limit = 60 * time.Second

// onLinux says whether there is shared memory.
const onLinux = runtime.GOOS == "linux"

// joinAll has ranks join that are on the machines named by the letters.
func joinAll(ctx context.Context, place, machines string, secret []byte) ([]transport.Endpoint, []error) {
	n := len(machines)
	ends, errs := make([]transport.Endpoint, n), make([]error, n)
	var all sync.WaitGroup
	for r := range n {
		all.Go(func() {
			w := rendezvous.World{Rank: r, Size: n, LocalRank: rendezvous.Unknown, LocalSize: rendezvous.Unknown, Address: "file://" + place}
			ends[r], errs[r] = Join(ctx, w, tcp.Options{Interfaces: "=lo,=lo0", Machine: machines[r : r+1], Secret: secret})
		})
	}
	all.Wait()
	return ends, errs
}

// open is joinAll that goes well; the endpoints are closed with the test.
func open(t testing.TB, machines string, secret []byte) []transport.Endpoint {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	ends, errs := joinAll(ctx, filepath.Join(t.TempDir(), "meeting"), machines, secret)
	t.Cleanup(func() {
		var all sync.WaitGroup // who closes waits a moment for the others to hear of it
		for _, e := range ends {
			if e != nil {
				all.Go(func() {
					if err := e.Close(); err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
	})
	for r, err := range errs {
		if err != nil {
			t.Fatalf("rank %d: %v", r, err)
		}
	}
	return ends
}

// each runs f for every rank at once.
func each(t *testing.T, ends []transport.Endpoint, f func(e transport.Endpoint) error) {
	t.Helper()
	errs := make([]error, len(ends))
	var all sync.WaitGroup
	for i, e := range ends {
		all.Go(func() { errs[i] = f(e) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("rank %d: %v", ends[i].Rank(), err)
		}
	}
}

// Every way and every mixture of them: the first ranks, which most checks are of, share a
// machine or not, and the splits are of one way, the other, or both. Ranks that a check has no
// use for are there and silent.
func TestTransport(t *testing.T) {
	for _, c := range []struct {
		machines string
		secret   []byte
	}{{"aabb", nil}, {"abab", nil}, {"abbb", []byte("known to the ranks of these tests")}} {
		t.Run(c.machines, func(t *testing.T) {
			transporttest.Run(t, func(t *testing.T, n int) []transporttest.End {
				ends := make([]transporttest.End, n)
				for r, e := range open(t, c.machines, c.secret)[:n] {
					if want := Name; onLinux && e.Name() != want {
						t.Fatalf("rank %d is joined over %s", r, e.Name())
					}
					ends[r].Endpoint = e
				}
				return ends
			})
		})
	}
}

// What an endpoint is depends on who shares a machine.
func TestJoin(t *testing.T) {
	if !onLinux {
		for r, e := range open(t, "aab", nil) {
			if e.Name() != "tcp" {
				t.Errorf("rank %d: %s", r, e.Name())
			}
		}
		return
	}
	for machines, want := range map[string]string{"a": "tcp", "abc": "tcp", "aaa": "shm", "aba": Name, "abbac": Name} {
		for r, e := range open(t, machines, nil) {
			if e.Name() != want || e.Rank() != r || e.Size() != len(machines) {
				t.Errorf("%s: rank %d is %d of %d over %s, want %s", machines, r, e.Rank(), e.Size(), e.Name(), want)
			}
			if m, ok := e.(transport.Machines); want != "shm" && (!ok || len(m.Machines()) != len(machines)) {
				t.Errorf("%s: rank %d does not know the machines", machines, r)
			}
		}
	}
	says := map[int]string{0: "to ranks [3] through shared memory, to all others over TCP", 1: "to ranks [2] through", 4: "no other rank reaches"}
	for r, e := range open(t, "abbac", nil) {
		if text := e.(transport.Describer).Describe(); says[r] != "" && !contains(text, says[r]) {
			t.Errorf("rank %d says %q, want %q", r, text, says[r])
		}
	}
}

func header(n, seq int) *transport.Header {
	return &transport.Header{Seq: uint64(seq), Len: int64(n), Call: transport.Call{Op: 3, Count: int64(n), Root: -1}}
}

// next is a note, or an error where none comes.
func next(e transport.Endpoint) (transport.Note, error) {
	select {
	case n, ok := <-e.Notes():
		if !ok {
			return n, fmt.Errorf("the notes are closed")
		}
		return n, nil
	case <-time.After(limit):
		return transport.Note{}, fmt.Errorf("no note comes")
	}
}
