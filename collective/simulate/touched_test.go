package simulate

import (
	"context"
	"testing"

	"github.com/volley-go/volley/collective/algorithm"
)

// What a schedule allocates and does not touch takes no room in a cache: of a Reduce between two
// ranks that is the other rank's scratch.
func TestTouched(t *testing.T) {
	n := Node("node", 2, 0, Costs{RecvByte: Rate{One: Curve{{192, 1}, {256, 2}}}})
	r, err := Run(context.Background(), Config{Network: n, Op: algorithm.Reduce, Algorithm: "binomial", Ranks: 2, Bytes: 64})
	if err != nil {
		t.Fatal(err)
	}
	if !near(r.Seconds, 64) {
		t.Errorf("%v, by hand %v", r.Seconds, 64)
	}
}

// Ranges count once, in whatever order a schedule goes through them.
func TestUnion(t *testing.T) {
	var all ranges
	for _, r := range [][2]int64{{10, 5}, {15, 5}, {0, 3}, {40, 2}, {18, 7}, {0, 0}, {2, 2}, {41, 1}} {
		all.add(algorithm.Range{Off: r[0], Len: r[1]})
	}
	if n := all.union(); n != 4+15+2 {
		t.Errorf("%d elements in %v, by hand %d", n, all, 4+15+2)
	}
	if n := (ranges)(nil).union(); n != 0 {
		t.Errorf("%d elements in none", n)
	}
}

// A copy of a range onto itself takes no time: the root's of the schedule within a machine, which
// begins where the one between machines has put the vector.
func TestCopyOntoItself(t *testing.T) {
	n := Node("node", 2, 0, Costs{})
	n.Copy = Rate{One: Flat(1)}
	r, err := Run(context.Background(), Config{Network: n, Op: algorithm.Broadcast, Algorithm: "hierarchical", Ranks: 2, Bytes: 64})
	if err != nil {
		t.Fatal(err)
	}
	if !near(r.Seconds, 64) {
		t.Errorf("%v, by hand %v", r.Seconds, 64)
	}
}

// What a copy past the caches writes takes no room in them: of a Gather the root's own block of the result.
func TestPast(t *testing.T) {
	for caches, want := range map[float64]float64{1: 64*2 + 64, 2: 64*2 + 64*2} {
		n := Node("node", 2, 0, Costs{RecvByte: Rate{One: Curve{{192, 1}, {256, 2}}}})
		n.Copy, n.Caches = Rate{One: Flat(2), OneOf: 2, Share: 1}, Rate{One: Flat(caches)}
		r, err := Run(context.Background(), Config{Network: n, Op: algorithm.Gather, Algorithm: "linear", Ranks: 2, Bytes: 128})
		if err != nil || !near(r.Seconds, want) {
			t.Errorf("caches of %v a byte: %v, by hand %v: %v", caches, r.Seconds, want, err)
		}
	}
}

// A sender that waits brings a long message while the receiver copies, at half the pace of both,
// unless it is combined or the ranks do not write each other's memory.
func TestHelped(t *testing.T) {
	for _, c := range []struct {
		name    string
		op      algorithm.Op
		helped  bool
		byte    float64 // of both
		seconds float64
	}{
		{"all of it", algorithm.Gather, true, 0.5, 64},
		{"a quarter of it", algorithm.Gather, true, 2, 64 + 48*2},
		{"none", algorithm.Gather, false, 2, 64 + 64*2},
		{"free", algorithm.Gather, true, 0, 64},
	} {
		n := Node("node", 2, 0, Costs{Helped: c.helped, RecvByte: Rate{One: Flat(c.byte)}})
		n.Copy = Rate{One: Flat(1)}
		r, err := Run(context.Background(), Config{Network: n, Op: c.op, Algorithm: "linear", Ranks: 2, Bytes: 128})
		if err != nil {
			t.Fatal(err)
		}
		if !near(r.Seconds, c.seconds) {
			t.Errorf("%s: %v, by hand %v", c.name, r.Seconds, c.seconds)
		}
	}
	// A message that is combined is brought by its receiver, however long its sender has waited.
	n := Node("node", 2, 0, Costs{Helped: true, Recv: 10, RecvByte: Rate{One: Flat(1)}})
	r, err := Run(context.Background(), Config{Network: n, Op: algorithm.Reduce, Algorithm: "linear", Ranks: 2, Bytes: 64})
	if err != nil {
		t.Fatal(err)
	}
	if !near(r.Seconds, 10+64) {
		t.Errorf("combined: %v, by hand %v", r.Seconds, 10+64)
	}
}
