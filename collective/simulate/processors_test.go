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
		looks        bool
		first, last  float64
	}{
		// Rank 1 is done 10+3+2 after the beginning, rank 3, on an idle processor too, 30+3+2;
		// rank 2 when rank 0 has sent all, 30+2.
		{"idle processors", algorithm.Broadcast, "linear", 4, 2, 10, 2, 1, 50, 3, false, 15, 35},
		// Rank 1 finds nothing, and rank 3 has its processor from 100 on, then rank 1 again.
		{"a long way", algorithm.Broadcast, "linear", 4, 2, 10, 2, 100, 1, 3, false, 30, 104},
		// Rank 1 has its message at 10 and rank 3, after it, at 30; rank 2 follows rank 0.
		{"a long look", algorithm.Broadcast, "linear", 4, 2, 10, 2, 100, 1, 3, true, 12, 32},
		// Rank 1 receives from 13 to 38; rank 3, whose message came at 30, goes on then.
		{"a busy processor", algorithm.Broadcast, "linear", 4, 2, 10, 25, 1, 50, 3, false, 30, 63},
		// Rank 0 sends, waits and leaves, rank 1 sends and receives, rank 0 receives.
		{"one processor", algorithm.AllGather, "ring", 2, 1, 10, 2, 50, 1, 3, false, 23, 25},
	} {
		n := Node("node", c.ranks, c.cores, Costs{Send: c.send, Recv: c.recv, Eager: math.MaxInt64})
		n.Leave, n.LeaveNear, n.Wake, n.Looks = c.leave, c.near, c.wake, c.looks
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
