package simulate

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/algorithm"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// Messages that came together take the receiver less than as many that came one by one, as
// far as one read brings them.
func TestBatch(t *testing.T) {
	for _, c := range []struct {
		batch int64
		last  float64
	}{
		{1 << 10, 100 + 10 + 3*1},         // all four
		{3 * 64, 100 + 10 + 1 + 1 + 10},   // three, and the fourth by itself
		{63, 100 + 4*10},                  // none with another
		{4*64 - 1, 100 + 10 + 1 + 1 + 10}, // the fourth does not fit
	} {
		n := Node("node", 2, 0, Costs{Send: 1, Recv: 10, Next: 1, Batch: c.batch, Eager: math.MaxInt64})
		r, err := Run(context.Background(), Config{Network: n, Op: algorithm.Broadcast, Algorithm: "linear", Ranks: 2, Bytes: 64, Calls: 4,
			Stragglers: []Straggler{{Rank: 1, Slow: 1, Late: 100 * time.Second}}})
		if err != nil {
			t.Fatal(err)
		}
		if !near(r.Seconds, c.last) {
			t.Errorf("reads of %d bytes: %v, by hand %v", c.batch, r.Seconds, c.last)
		}
	}
}

// A byte's time goes by all vectors of the node: the root's input and both outputs.
func TestVectors(t *testing.T) {
	n := Node("node", 2, 0, Costs{RecvByte: Rate{One: Curve{{64, 1}, {192, 2}, {384, 4}}}, Eager: math.MaxInt64})
	r, err := Run(context.Background(), Config{Network: n, Op: algorithm.Broadcast, Algorithm: "linear", Ranks: 2, Bytes: 64})
	if err != nil {
		t.Fatal(err)
	}
	if !near(r.Seconds, 64*2) {
		t.Errorf("%v, by hand %v", r.Seconds, 64*2)
	}
}

// A message among vectors that the caches do not hold takes longer than one alone, by as much
// as a copy does; one among fewer than it was measured with takes no less.
func TestMessageAmongVectors(t *testing.T) {
	copies := Rate{One: Curve{{100, 1}, {200, 2}, {400, 5}}, Two: Curve{{100, 1}, {200, 4}, {400, 9}}}
	r := Rate{One: Curve{{50, 10}, {100, 20}}, Two: Curve{{50, 15}, {100, 30}}, OneOf: 2, TwoOf: 4, Share: 0.5}
	for _, c := range []struct{ bytes, vectors, one, two float64 }{
		{50, 100, 10, 15},              // measured so
		{50, 400, 10 + 2, 15 + 2.5},    // (5-1)/2 and (9-4)/2 more
		{100, 200, 20, 30},             // of two, measured among 400
		{100, 100, 20, 30},             // no less
		{100, 400, 20 + 0.5*(5-2), 30}, // one alone was measured among 200
	} {
		x := r.of(c.bytes, c.vectors, &copies)
		if !near(x.of(1), c.one) || !near(x.of(2), c.two) {
			t.Errorf("%v bytes among %v: %v and %v, by hand %v and %v", c.bytes, c.vectors, x.of(1), x.of(2), c.one, c.two)
		}
	}
}

// What is copied once and takes longer than the caches do is bound by something else, until they take as long.
func TestCopyPastCaches(t *testing.T) {
	copies := Rate{One: Curve{{100, 1}, {200, 2}, {400, 5}}}
	r := Rate{One: Flat(4), OneOf: 2, Share: 1, Once: true}
	for vectors, want := range map[float64]float64{100: 4, 200: 4, 400: 5} {
		if x := r.of(50, vectors, &copies); !near(x.of(1), want) {
			t.Errorf("50 bytes among %v: %v, by hand %v", vectors, x.of(1), want)
		}
	}
}

// A message that is combined takes a time of its own where there are figures of that, else a
// message's and what is more by the byte; and each takes what is more by the message.
func TestCombined(t *testing.T) {
	for _, c := range []struct {
		of   Rate
		want float64
	}{{Rate{}, 7 + 64*(1+5)}, {Rate{One: Flat(3)}, 7 + 64*3}} {
		n := Node("node", 2, 0, Costs{RecvByte: Rate{One: Flat(1)}, Fold: Rate{One: Flat(5)}, Combine: 7, CombineByte: c.of})
		r, err := Run(context.Background(), Config{Network: n, Op: algorithm.Reduce, Algorithm: "linear", Ranks: 2, Bytes: 64})
		if err != nil || !near(r.Seconds, c.want) {
			t.Errorf("%+v: %v, by hand %v: %v", c.of, r.Seconds, c.want, err)
		}
	}
}
