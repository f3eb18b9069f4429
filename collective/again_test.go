package collective

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/volley-go/volley/device"
)

// A call that is made again is not checked anew: whatever differs from the one before
// must be seen all the same.
func TestAgain(t *testing.T) {
	for name, open := range transports {
		t.Run(name, func(t *testing.T) {
			comms := over(t, open(t, 3), quick)
			for r, err := range each(t, comms, func(c *Comm) error { return callsAgain(t, c) }) {
				if err != nil {
					t.Errorf("rank %d: %v", r, err)
				}
			}
		})
	}
}

func callsAgain(t *testing.T, c *Comm) error {
	ctx := context.Background()
	a, b := make([]int64, 6), make([]int64, 6)
	add := func(i, j int64) int64 { return i + j }
	most := func(i, j int64) int64 { return max(i, j) }
	calls := []struct {
		in, out []int64
		op      Op
		want    func(sum, max int64) int64
	}{
		{a, b, Sum, func(sum, _ int64) int64 { return sum }},
		{a, b, Max, func(_, max int64) int64 { return max }},
		{a, a, Sum, func(sum, _ int64) int64 { return sum }},
		{b, a, Sum, func(sum, _ int64) int64 { return sum }},
		{a[:5], b[:5], Sum, func(sum, _ int64) int64 { return sum }},
		{a, b, Avg, func(sum, _ int64) int64 { return sum / 3 }},
		{a, b, NewOp("add", true, add), func(sum, _ int64) int64 { return sum }},
		{a, b, NewOp("most", true, most), func(_, max int64) int64 { return max }},
	}
	for round := range int64(3) {
		for _, k := range calls {
			for range 3 {
				var sum, most int64
				for r := range int64(3) {
					v := 10*r + 100*round
					sum, most = sum+v, max(most, v)
				}
				for i := range k.in {
					k.in[i] = 10*int64(c.Rank()) + 100*round
				}
				if err := c.AllReduce(ctx, Of(k.in), Of(k.out), k.op); err != nil {
					return err
				}
				if want := k.want(sum, most); slices.ContainsFunc(k.out, func(x int64) bool { return x != want }) {
					t.Errorf("rank %d, %s: %v, want %d", c.Rank(), k.op, k.out, want)
				}
				// A wrong call in between is refused, and the one after it is none.
				if err := c.AllReduce(ctx, Of(a), Of(b[1:]), Sum); !errors.Is(err, device.ErrMismatch) {
					t.Errorf("rank %d: vectors of different lengths: %v", c.Rank(), err)
				}
			}
			for root := range 3 {
				for range 2 {
					v := []int64{int64(root) + round}
					if c.Rank() != root {
						v[0] = -1
					}
					if err := c.Broadcast(ctx, Of(v), Of(v), root); err != nil {
						return err
					}
					if v[0] != int64(root)+round {
						t.Errorf("rank %d: broadcast of %d gives %d", c.Rank(), root, v[0])
					}
				}
			}
		}
	}
	return nil
}

// What was called last keeps no vector: it is the caller's alone after the call.
func TestAgainKeepsNothing(t *testing.T) {
	c := world(t, 1, quick)[0]
	v := make([]float32, 100)
	for range 2 {
		if err := c.AllReduce(context.Background(), Of(v), Of(v), Sum); err != nil {
			t.Fatal(err)
		}
		if c.again.program == nil {
			t.Error("the call is not known after it")
		}
		if c.again.given != nil || c.again.received != nil || c.mover.spaces[0] != nil || c.mover.spaces[1] != nil {
			t.Error("the vectors are kept")
		}
	}
}
