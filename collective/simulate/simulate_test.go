package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/algorithm"
	"github.com/volley-go/volley/device"
)

// wire and costs are round numbers: 1 µs a message and link, 10 GB/s.
var (
	wire = Wire{GBs: 10, Latency: 1e-6}
	ends = Costs{Send: 1e-6, Recv: 2e-6, Latency: 0, Eager: 1 << 16}
)

func networks(t testing.TB, ranks, perNode int) []*Network {
	t.Helper()
	nodes := (ranks + perNode - 1) / perNode
	tree, err := FatTree(nodes, perNode, 4, 2, wire, wire)
	if err != nil {
		t.Fatal(err)
	}
	fly, err := Dragonfly(nodes, perNode, 1, wire, wire, wire)
	if err != nil {
		t.Fatal(err)
	}
	rails, err := Rails(nodes, perNode, 2, 4096, wire)
	if err != nil {
		t.Fatal(err)
	}
	crowded := Node("crowded node", ranks, 2, ends)
	crowded.Leave, crowded.Wake = 5e-6, 3e-6
	crowded.Inside.RecvByte = Rate{One: Flat(1e-10), Two: Flat(1.5e-10)}
	all := []*Network{Node("node", ranks, 0, ends), crowded, tree, fly, rails}
	for _, n := range all {
		n.Inside, n.Across = ends, ends
		n.Across.Eager = 1 << 10
	}
	return all
}

// Every algorithm of every operation gives every rank its result on every network,
// with all positions tracked and with a few.
func TestResults(t *testing.T) {
	for _, op := range operations() {
		for _, a := range algorithm.For(op) {
			for _, ranks := range []int{1, 2, 3, 5, 8, 17, 24} {
				for _, n := range networks(t, ranks, 4) {
					if n.Name == "dragonfly" && ranks > 24 {
						continue
					}
					for _, c := range []Config{{Bytes: 0}, {Bytes: 100}, {Bytes: 30000, Samples: 8, Chunk: 4096}, {Bytes: 5000, Root: ranks / 2, Deterministic: true}} {
						c.Network, c.Op, c.Algorithm, c.Ranks = n, op, a.Name, ranks
						r, err := Run(context.Background(), c)
						if err != nil {
							t.Fatalf("%d bytes: %v", c.Bytes, err)
						}
						if c.Bytes > 0 && op != algorithm.Barrier && r.Checked == 0 {
							t.Fatalf("%s of %s on %d ranks: nothing was checked", a.Name, op, ranks)
						}
						if ranks > 1 && op != algorithm.Barrier && c.Bytes > 0 && (r.Seconds <= 0 || r.Bytes == 0 || r.Messages == 0) {
							t.Fatalf("%s of %s on %d ranks of %s took nothing: %+v", a.Name, op, ranks, n.Name, r)
						}
					}
				}
			}
		}
	}
}

func operations() []algorithm.Op {
	var all []algorithm.Op
	for op := algorithm.Barrier; op <= algorithm.AllToAll; op++ {
		all = append(all, op)
	}
	return all
}

// plant runs a call by a schedule that is wrong.
func plant(plan func(c *algorithm.Call) algorithm.Plan, ordered, deterministic bool) error {
	c := Config{Network: Node("node", 4, 0, ends), Op: algorithm.AllReduce, Algorithm: "butterfly", Ranks: 4, Bytes: 64, Deterministic: deterministic}
	c.fill()
	call, with, err := c.call()
	if err != nil {
		return err
	}
	bad := *with
	bad.Ordered = ordered
	bad.Plans[algorithm.AllReduce] = plan
	e := newEngine(&c, call, &bad)
	defer e.close()
	return e.run(context.Background())
}

// A result that lacks a contribution, has one twice, or has them in another order
// than is asked for is found; so is a schedule that hangs.
func TestWrongSchedules(t *testing.T) {
	right, err := algorithm.Named("doubling", algorithm.AllReduce)
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(rank int, r *algorithm.Round)) func(c *algorithm.Call) algorithm.Plan {
		return func(c *algorithm.Call) algorithm.Plan {
			p := right.Plan(*c)
			return algorithm.Plan{Scratch: p.Scratch, Rounds: func(yield func(*algorithm.Round) bool) {
				for r := range p.Rounds {
					f(c.Rank, r)
					if !yield(r) {
						return
					}
				}
			}}
		}
	}
	ring, err := algorithm.Named("ring", algorithm.AllReduce)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name                   string
		plan                   func(c *algorithm.Call) algorithm.Plan
		ordered, deterministic bool
		want                   string // of the error; "" for none
	}{
		{"right", right.Plans[algorithm.AllReduce], true, true, ""},
		{"overwrites", change(func(rank int, r *algorithm.Round) {
			if rank == 2 && len(r.Recvs) > 0 {
				r.Recvs[0].Side = algorithm.Plain
			}
		}), false, false, "holds 2 contributions, and not just one of each of the 4"},
		{"turned", change(func(rank int, r *algorithm.Round) {
			for i := range r.Recvs {
				r.Recvs[i].Side = algorithm.Left + algorithm.Right - r.Recvs[i].Side
			}
		}), true, false, "not combined in the order of ranks"},
		{"twice", change(func(rank int, r *algorithm.Round) {
			if rank == 0 && len(r.Recvs) > 0 {
				r.Local = append(r.Local, algorithm.Local{Into: r.Sends[0].From, A: r.Sends[0].From, B: r.Sends[0].From, Fold: true})
			}
		}), false, false, "contributions, and not just one of each of the 4"},
		{"ring order", ring.Plans[algorithm.AllReduce], true, false, "not combined in the order of ranks"},
		{"hangs", change(func(rank int, r *algorithm.Round) {
			if rank == 1 {
				r.Sends = r.Sends[:0]
			}
		}), true, false, "hangs"},
	} {
		err := plant(c.plan, c.ordered, c.deterministic)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !errors.Is(err, device.ErrMismatch)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

// Times are those that the model gives by hand.
func TestTimes(t *testing.T) {
	const n = 1 << 20
	message := func(links float64) float64 { return 1e-6 + links*1e-6 + n/10e9 + 2e-6 }
	flat, err := FatTree(16, 1, 16, 16, wire, wire)
	if err != nil {
		t.Fatal(err)
	}
	flat.Inside, flat.Across = ends, ends
	deep, err := FatTree(4, 1, 1, 1, wire, wire)
	if err != nil {
		t.Fatal(err)
	}
	deep.Across = ends
	for _, c := range []struct {
		name  string
		net   *Network
		op    algorithm.Op
		with  string
		ranks int
		want  float64
	}{
		{"one message below a leaf", flat, algorithm.Broadcast, "linear", 2, message(2)},
		{"one message over a spine", deep, algorithm.Broadcast, "linear", 2, message(4)},
		{"log2 p messages", flat, algorithm.Broadcast, "binomial", 16, 4 * message(2)},
		{"p-1 messages share the root's link", flat, algorithm.Broadcast, "linear", 16, message(2) + 14*n/10e9},
		{"2(p-1) rounds of a p-th", flat, algorithm.AllReduce, "ring", 16, 30 * (5e-6 + n/16/10e9)},
	} {
		r, err := Run(context.Background(), Config{Network: c.net, Op: c.op, Algorithm: c.with, Ranks: c.ranks, Bytes: n})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(r.Seconds/c.want-1) > 0.02 {
			t.Errorf("%s: %.2f µs, by hand %.2f µs", c.name, 1e6*r.Seconds, 1e6*c.want)
		}
	}
}

// Oversubscribed spines make an exchange that crosses them slower in proportion, and
// its links are used to the full.
func TestContention(t *testing.T) {
	seconds := map[int]float64{}
	for _, up := range []int{8, 2} {
		n, err := FatTree(64, 1, 8, up, wire, wire)
		if err != nil {
			t.Fatal(err)
		}
		n.Across = ends
		r, err := Run(context.Background(), Config{Network: n, Op: algorithm.AllToAll, Algorithm: "pairwise", Ranks: 64, Bytes: 64 << 20})
		if err != nil {
			t.Fatal(err)
		}
		seconds[up] = r.Seconds
		if up == 2 && r.Links[2].Most < 0.8 {
			t.Errorf("the spines are the bottleneck, and their busiest link carries %.2f of the time", r.Links[2].Most)
		}
	}
	if ratio := seconds[2] / seconds[8]; ratio < 3 || ratio > 4.5 {
		t.Errorf("a quarter of the spines makes it %.2f times as long", ratio)
	}
}

// A call waits for its slowest rank, and repeats exactly.
func TestStragglers(t *testing.T) {
	n := networks(t, 16, 4)[2]
	c := Config{Network: n, Op: algorithm.AllReduce, Algorithm: "butterfly", Ranks: 16, Bytes: 1 << 20}
	plain, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	c.Stragglers = []Straggler{{Rank: 5, Late: 3 * time.Millisecond}}
	late, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if more := late.Seconds - plain.Seconds; more < 2e-3 || more > 4e-3 {
		t.Errorf("a rank that is 3 ms late makes the call %.2f ms longer", 1e3*more)
	}
	if fmt.Sprint(late) != fmt.Sprint(again) {
		t.Errorf("%+v, again %+v", late, again)
	}
}

// What cannot be run is refused with what is wrong.
func TestRefused(t *testing.T) {
	n := Node("node", 8, 0, ends)
	huge, err := FatTree(16384, 1, 64, 64, wire, wire)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		c    Config
		kind error
		want string
	}{
		{Config{Network: n, Op: algorithm.AllReduce, Algorithm: "ring", Ranks: 9}, device.ErrMismatch, "9 ranks on 1 nodes of 8"},
		{Config{Network: n, Op: algorithm.AllReduce, Algorithm: "rings", Ranks: 8}, device.ErrUnsupported, `no algorithm "rings"`},
		{Config{Network: n, Op: algorithm.Broadcast, Algorithm: "chain", Ranks: 8, Root: 8}, device.ErrMismatch, "root 8"},
		{Config{Network: n, Op: algorithm.Broadcast, Algorithm: "chain", Ranks: 8, Failure: &Failure{Rank: 8}}, device.ErrMismatch, "rank 8 of 8 cannot fail"},
		{Config{Network: n, Op: algorithm.Broadcast, Algorithm: "chain", Ranks: 8, Stragglers: []Straggler{{Rank: -1}}}, device.ErrMismatch, "straggler"},
		{Config{Network: huge, Op: algorithm.AllGather, Algorithm: "linear", Ranks: 16384, Bytes: 1 << 20}, device.ErrOutOfMemory, "rounds of 32766 messages a rank"},
		{Config{Network: nil, Op: algorithm.AllGather, Algorithm: "linear", Ranks: 1}, device.ErrMismatch, "1 ranks"},
	} {
		if _, err := Run(context.Background(), c.c); !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Run(ctx, Config{Network: n, Op: algorithm.AllReduce, Algorithm: "ring", Ranks: 8, Bytes: 8}); !errors.Is(err, device.ErrCanceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

// Sixteen thousand ranks fit the memory that a simulation takes when nothing is said, and have their results.
func TestManyRanks(t *testing.T) {
	const ranks = 16384
	n, err := FatTree(ranks/8, 8, 64, 32, wire, wire)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"butterfly", "doubletree", "hierarchical", "tree"} {
		for _, size := range []int64{1 << 10, 1 << 20} {
			r, err := Run(context.Background(), Config{Network: n, Op: algorithm.AllReduce, Algorithm: name, Ranks: ranks, Bytes: size, Samples: 4})
			if err != nil {
				t.Fatalf("%s, %d bytes: %v", name, size, err)
			}
			if r.Checked != 4*ranks || r.Messages < ranks-1 || r.Seconds <= 0 {
				t.Errorf("%s, %d bytes: %+v", name, size, r)
			}
		}
	}
}
