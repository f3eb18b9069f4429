package collective

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/collective/transport/mixed"
	"github.com/volley-go/volley/collective/transport/rendezvous"
	"github.com/volley-go/volley/collective/transport/tcp"
)

// onMachines opens the endpoints of ranks over TCP that say they are on the machines named
// by the letters.
func onMachines(t testing.TB, names string, secret []byte) []transport.Endpoint {
	place := "file://" + filepath.Join(t.TempDir(), "meeting")
	return meet(t, len(names), func(ctx context.Context, r int) (transport.Endpoint, error) {
		w := rendezvous.World{Rank: r, Size: len(names), LocalRank: rendezvous.Unknown, LocalSize: rendezvous.Unknown, Node: rendezvous.Unknown, Address: place}
		return tcp.Join(ctx, w, tcp.Options{Interfaces: "=lo,=lo0", Machine: names[r : r+1], Secret: secret})
	})
}

// crossing counts what goes from one machine to another, whether or not its Comm knows of
// machines.
type crossing struct {
	transport.Endpoint
	of              []int
	tells           bool
	messages, bytes *atomic.Int64
}

func (e *crossing) Machines() []int {
	if e.tells {
		return e.of
	}
	return nil
}

func (e *crossing) Post(to int, h *transport.Header, payload []byte) error {
	if e.of[to] != e.of[e.Rank()] {
		e.messages.Add(1)
		e.bytes.Add(h.Len)
	}
	return e.Endpoint.Post(to, h, payload)
}

// hierarchically names the algorithm of all operations.
func hierarchically() Options {
	o := Options{Algorithms: map[algorithm.Op]string{}}
	for op := algorithm.Barrier; op <= algorithm.AllToAll; op++ {
		o.Algorithms[op] = "hierarchical"
	}
	return o
}

// machinesOf are the machines of a Comm's ranks, as the letters that the ranks said.
func machinesOf(c *Comm, letters string) string {
	if c.nodes == nil {
		return strings.Repeat(letters[:1], c.Size())
	}
	var b strings.Builder
	for r := range c.Size() {
		b.WriteByte(letters[c.nodes.Of(r)])
	}
	return b.String()
}

// Comms over TCP know their ranks' machines, all ranks the same ones, and what they do
// hierarchically sends less from machine to machine than where nobody knows.
func TestMachines(t *testing.T) {
	all := []algorithm.Op{algorithm.AllReduce, algorithm.Broadcast, algorithm.ReduceScatter, algorithm.AllGather, algorithm.Reduce, algorithm.Gather,
		algorithm.Scatter, algorithm.AllToAll}
	// Whether there are fewer bytes of AllReduce and of Broadcast: a tree over ranks, or over
	// those behind the root, may happen to be one over machines. Of ReduceScatter and AllGather there always are.
	for names, fewer := range map[string][]bool{"abab": {true, false, true, true}, "aabb": {true, true, true, true}, "abcab": {true, true, true, true}, "abbca": {true, true, true, true}} {
		t.Run(names, func(t *testing.T) {
			ends := onMachines(t, names, nil)
			of := ends[0].(transport.Machines).Machines()
			var sent [2][9][2]int64 // by knowing, operation, and messages or bytes
			for knowing := range 2 {
				var messages, bytes atomic.Int64
				counted := split(t, ends, fmt.Sprint("knowing ", knowing))
				for r, e := range counted {
					if own := e.(transport.Machines).Machines(); !slices.Equal(own, of) {
						t.Fatalf("rank %d is told %v, rank 0 %v", r, own, of)
					}
					counted[r] = &crossing{e, of, knowing == 1, &messages, &bytes}
				}
				comms := over(t, counted, hierarchically())
				for _, c := range comms {
					if want := names; knowing == 1 && machinesOf(c, "abc") != want || knowing == 0 && c.nodes != nil {
						t.Fatalf("rank %d: %s, want %s", c.Rank(), machinesOf(c, "abc"), want)
					}
				}
				for i, op := range all {
					for _, n := range []int64{0, 1, 7, 1000, 50021} {
						messages.Store(0)
						bytes.Store(0)
						operation[float32](t, comms, op, n)
						operation[int64](t, comms, op, n)
					}
					sent[knowing][i] = [2]int64{messages.Load(), bytes.Load()}
				}
			}
			for i, op := range all {
				if was, is := sent[0][i], sent[1][i]; is[1] > was[1] || i < len(fewer) && fewer[i] && is[1] >= was[1] {
					t.Errorf("%s sends %d bytes in %d messages between machines, %d in %d where nobody knows of them", op, is[1], is[0], was[1], was[0])
				}
			}
			if was, is := sent[0][1][0], sent[1][1][0]; is > was || fewer[1] && is >= was {
				t.Errorf("Broadcast sends %d messages between machines, %d where nobody knows of them", is, was)
			}
		})
	}
}

// Groups of a Comm know the machines of their own ranks: by Split, Sub, Shrink and Grow.
func TestMachinesOfGroups(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	const names = "abcab"
	o := hierarchically()
	o.Heartbeat, o.Deadline = quick.Heartbeat, quick.Deadline
	comms := over(t, onMachines(t, names, []byte("known to the ranks of this test")), o)
	check := func(c *Comm, err error, want string) error {
		if err != nil {
			return err
		}
		letters := ""
		for _, l := range want {
			if !strings.ContainsRune(letters, l) {
				letters += string(l)
			}
		}
		if got := machinesOf(c, letters); got != want {
			return fmt.Errorf("rank %d of a group: machines %s, want %s", c.Rank(), got, want)
		}
		v := []int64{1, int64(c.Rank())}
		if err := c.AllReduce(ctx, Of(v), Of(v), Sum); err != nil {
			return err
		}
		if n := int64(c.Size()); v[0] != n || v[1] != n*(n-1)/2 {
			return fmt.Errorf("rank %d of %d on %s: sums %d", c.Rank(), n, want, v)
		}
		if err := c.Broadcast(ctx, Of(v), Of(v), c.Size()-1); err != nil {
			return err
		}
		return nil
	}
	place := filepath.Join(t.TempDir(), "grown")
	meeting := func(ctx context.Context, rank, size int) (transport.Endpoint, error) {
		w := rendezvous.World{Rank: rank, Size: size, LocalRank: rendezvous.Unknown, LocalSize: rendezvous.Unknown, Node: rendezvous.Unknown, Address: "file://" + place}
		return tcp.Join(ctx, w, tcp.Options{Interfaces: "=lo,=lo0", Machine: "cadab"[rank : rank+1]})
	}
	must(t, comms, func(c *Comm) error {
		r := c.Rank()
		s, err := c.Split(ctx, int(names[r]), 0) // by machine
		if err := check(s, err, []string{"aa", "bb", "c"}[names[r]-'a']); err != nil {
			return err
		}
		s.Close()
		s, err = c.Split(ctx, 0, -r) // in the other order
		if err := check(s, err, "bacba"); err != nil {
			return err
		}
		s.Close()
		if r == 1 || r == 4 || r == 2 {
			s, err = c.Sub(ctx, []int{4, 2, 1})
			if err := check(s, err, "bcb"); err != nil {
				return err
			}
			s.Close()
		}
		err = c.Barrier(ctx) // of who is slow it may end with the Fault that rank 1 leaves
		if r == 1 {
			return errors.Join(err, c.Close())
		}
		for err == nil {
			err = c.Barrier(ctx)
		}
		small, err := c.Shrink(ctx)
		if err := check(small, err, "acab"); err != nil {
			return err
		}
		defer small.Close()
		if r == 4 {
			joined := make(chan error, 1)
			go func() {
				e, err := Enter(ctx, 4, 5, meeting, o)
				joined <- check(e, err, "cadab")
				if err == nil {
					e.Close()
				}
			}()
			defer func() { <-joined }()
			large, err := small.Grow(ctx, 5, meeting)
			err = check(large, err, "cadab")
			if entered := <-joined; err == nil {
				err = entered
			}
			joined <- nil
			return err
		}
		large, err := small.Grow(ctx, 5, meeting)
		return check(large, err, "cadab")
	})
}

// A Comm chooses by its machines, all ranks alike, and Explain tells of them.
func TestChoosesByMachines(t *testing.T) {
	const names = "abababab"
	comms := over(t, onMachines(t, names, nil), Options{})
	const n = 1 << 18
	must(t, comms, func(c *Comm) error {
		v := make([]float32, n)
		for i := range v {
			v[i] = 1
		}
		if err := c.AllReduce(t.Context(), Of(v), Of(v), Sum); err != nil {
			return err
		}
		if v[0] != 8 || v[n-1] != 8 {
			return fmt.Errorf("sums %v and %v of 8 ranks", v[0], v[n-1])
		}
		if ops := c.Stats().Operations; len(ops) != 1 || ops[0].Algorithm != "hierarchical" {
			return fmt.Errorf("the AllReduce went by %+v", ops)
		}
		for _, want := range []string{"hierarchical, because " + byModel, "the ranks are on 2 machines, at most 4 on one\n", "\n* hierarchical"} {
			if text := c.Explain(algorithm.AllReduce, Float32, n); !strings.Contains(text, want) {
				return fmt.Errorf("want %q:\n%s", want, text)
			}
		}
		return nil
	})
}

// Explain of a deterministic reduction says what its algorithm does.
func TestExplainsDeterministic(t *testing.T) {
	for name, direct := range map[string]bool{"ring": true, "doubletree": true, "direct": false, "doubling": false} {
		text := world(t, 4, deterministically(algorithm.AllReduce, name, 0))[0].Explain(algorithm.AllReduce, Float32, 1000)
		if strings.Contains(text, name+" exchanges contributions directly where it reduces") != direct {
			t.Errorf("%s:\n%s", name, text)
		}
	}
	if text := world(t, 4, Options{})[0].Explain(algorithm.AllReduce, Float32, 1000); strings.Contains(text, "directly") || strings.Contains(text, "machines") {
		t.Errorf("any order, one machine:\n%s", text)
	}
}

// Init tells the ranks' machines that the environment names.
func TestInitMachines(t *testing.T) {
	place := "file://" + filepath.Join(t.TempDir(), "meeting")
	ends := meet(t, 3, func(ctx context.Context, r int) (transport.Endpoint, error) {
		c, err := InitFrom(ctx, func(name string) string {
			return map[string]string{"RANK": fmt.Sprint(r), "WORLD_SIZE": "3", "VOLLEY_ADDRESS": place, machineVariable: fmt.Sprint(r / 2)}[name]
		})
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { c.Close() })
		want := "tcp"
		if runtime.GOOS == "linux" {
			want = mixed.Name
		}
		if got := machinesOf(c, "ab"); got != "aab" || c.Transport() != want {
			return nil, fmt.Errorf("machines %s over %s", got, c.Transport())
		}
		return c.ends, nil
	})
	if len(ends) != 3 {
		t.Error(len(ends))
	}
}
