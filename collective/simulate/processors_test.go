package simulate

import (
	"context"
	"math"
	"testing"

	"github.com/volley-go/volley/collective/algorithm"
)

// Ranks that share processors take turns as a walk by hand says: of four ranks on two
// processors, 0 and 2 have one and 1 and 3 the other.
func TestProcessors(t *testing.T) {
	for _, c := range []struct {
		name         string
		op           algorithm.Op
		with         string
		ranks, cores int
		send, recv   float64
		leave, near  float64
		wake         float64
		wakeNear     float64
		rouse        float64
		looks        bool
		first, last  float64
	}{
		// Rank 1 is done 10+3+2 after the beginning, rank 3, on an idle processor too, 30+3+2;
		// rank 2 when rank 0 has sent all, 30+2.
		{"idle processors", algorithm.Broadcast, "linear", 4, 2, 10, 2, 1, 50, 3, 0, 0, false, 15, 35},
		// Rank 1 finds nothing, and rank 3 has its processor from 100 on, then rank 1 again.
		{"a long way", algorithm.Broadcast, "linear", 4, 2, 10, 2, 100, 1, 3, 0, 0, false, 30, 104},
		// Rank 1 has its message at 10 and rank 3, after it, at 30; rank 2 follows rank 0.
		{"a long look", algorithm.Broadcast, "linear", 4, 2, 10, 2, 100, 1, 3, 0, 0, true, 12, 32},
		// Rank 1 receives from 13 to 38; rank 3, whose message came at 30, wakes then.
		{"a busy processor", algorithm.Broadcast, "linear", 4, 2, 10, 25, 1, 50, 3, 0, 0, false, 30, 66},
		// Rank 0 sends, waits and leaves, rank 1 sends and receives, rank 0 receives.
		{"one processor", algorithm.AllGather, "ring", 2, 1, 10, 2, 50, 1, 3, 0, 0, false, 23, 25},
		// Rank 0 sleeps and rank 2 sends from 1 on, when the message of rank 1 wakes rank 0 at 10,
		// which takes the processor of rank 2: that has 1 to go. Rank 0 receives twice from 13 on,
		// rouses rank 1 while it sends to it until 32, which is done 3+2 later, and sends until 42.
		{"sleepers", algorithm.Barrier, "linear", 3, 2, 10, 2, 1, 1, 3, 4, 5, false, 37, 45},
	} {
		n := Node("node", c.ranks, c.cores, Costs{Send: c.send, Recv: c.recv, Eager: math.MaxInt64})
		n.Leave, n.LeaveNear, n.Wake, n.WakeNear, n.Rouse, n.Looks = c.leave, c.near, c.wake, c.wakeNear, c.rouse, c.looks
		r, err := Run(context.Background(), Config{Network: n, Op: c.op, Algorithm: c.with, Ranks: c.ranks, Bytes: 64})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(r.First-c.first) > 1e-6 || math.Abs(r.Seconds-c.last) > 1e-6 {
			t.Errorf("%s: first rank done at %v, last at %v; by hand %v and %v", c.name, r.First, r.Seconds, c.first, c.last)
		}
	}
}

// A lane brings messages no faster than its gap, and a stream's bytes take their time.
func TestGapAndStream(t *testing.T) {
	costs := Costs{Send: 1, Recv: 1, Eager: math.MaxInt64}
	costs.Gap = Flat(10)
	n := Node("node", 2, 2, costs)
	r, err := Run(context.Background(), Config{Network: n, Op: algorithm.Broadcast, Algorithm: "linear", Ranks: 2, Bytes: 64, Calls: 5})
	if err != nil || r.Seconds != 1+4*10+1 {
		t.Errorf("five messages take %v: %v", r.Seconds, err)
	}
	costs.Gap, costs.Stream = nil, Flat(2)
	n = Node("node", 2, 2, costs)
	r, err = Run(context.Background(), Config{Network: n, Op: algorithm.Broadcast, Algorithm: "linear", Ranks: 2, Bytes: 64})
	if err != nil || r.Seconds != 1+2*64+1 {
		t.Errorf("64 bytes take %v: %v", r.Seconds, err)
	}
}

// A sender waits where its lane is full, of messages or of bytes, until the receiver has
// taken the first.
func TestLaneIsFull(t *testing.T) {
	for _, full := range []struct {
		depth int
		room  int64
		least int
	}{{2, 0, 0}, {100, 128, 0}, {100, 64, 2}} {
		costs := Costs{Send: 1, Recv: 10, Eager: 64, Depth: full.depth, Room: full.room, Least: full.least}
		n := Node("node", 2, 2, costs)
		r, err := Run(context.Background(), Config{Network: n, Op: algorithm.Broadcast, Algorithm: "linear", Ranks: 2, Bytes: 64, Calls: 5})
		if err != nil || math.Abs(r.First-32) > 1e-6 || math.Abs(r.Seconds-51) > 1e-6 {
			t.Errorf("%+v: the sender is done at %v, the receiver at %v: %v", full, r.First, r.Seconds, err)
		}
	}
}

// A long message costs its receiver more where its sender has written it in the same call: the
// second hop of a chain passes on what it received, the root what it was given.
func TestFreshBytes(t *testing.T) {
	const bytes = 1 << 10
	took := func(name string, fresh float64) float64 {
		n := Node("node", 3, 0, Costs{Latency: 1e-6, RecvByte: Rate{One: Flat(1e-9)}, FreshByte: Rate{One: Flat(fresh)}})
		r, err := Run(context.Background(), Config{Network: n, Op: algorithm.Broadcast, Algorithm: name, Ranks: 3, Bytes: bytes})
		if err != nil {
			t.Fatal(err)
		}
		return r.Seconds
	}
	if more := took("chain", 2e-9) - took("chain", 0); math.Abs(more-bytes*2e-9) > 1e-12 {
		t.Errorf("a chain takes %v s longer", more)
	}
	if more := took("linear", 2e-9) - took("linear", 0); more != 0 {
		t.Errorf("a root that sends its own vector takes %v s longer", more)
	}
}
