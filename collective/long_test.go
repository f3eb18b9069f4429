package collective

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
)

// Long vectors of ranks in one process, whose messages and own steps those that wait take
// parts of, give the same as others, in place and out of place.
func TestLongVectors(t *testing.T) {
	before := runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	defer runtime.GOMAXPROCS(before)
	const n = 400_003 // 1.5 MiB of float32, and no multiple of 64 bytes
	ctx := context.Background()
	for _, ranks := range []int{2, 3} {
		for _, o := range []Options{{}, {Deterministic: true}, {Checksum: true}} {
			t.Run(fmt.Sprintf("%d/%v/%v", ranks, o.Deterministic, o.Checksum), func(t *testing.T) {
				comms := world(t, ranks, o)
				for _, inPlace := range []bool{false, true} {
					must(t, comms, func(c *Comm) error { return longVectors(ctx, c, n, inPlace) })
				}
			})
		}
	}
}

func longVectors(ctx context.Context, c *Comm, n int64, inPlace bool) error {
	p := int64(c.Size())
	total := func(i int64) (sum float32) {
		for r := range c.Size() {
			sum += float32(value(r, i))
		}
		return sum
	}
	check := func(what string, got []float32, want func(i int64) float32) error {
		for i, x := range got {
			if x != want(int64(i)) {
				return fmt.Errorf("%s: element %d is %v, not %v", what, i, x, want(int64(i)))
			}
		}
		return nil
	}
	from := func(i int64) float32 { return float32(value(int(i/n), i%n)) } // the blocks of all ranks
	vectors := func() (in, out []float32) {
		in, out = fill[float32](c.Rank(), n), make([]float32, n)
		if inPlace {
			out = in
		}
		return in, out
	}
	in, out := vectors()
	if err := c.Broadcast(ctx, Of(in), Of(out), 1); err != nil {
		return err
	}
	if err := check("Broadcast", out, func(i int64) float32 { return float32(value(1, i)) }); err != nil {
		return err
	}
	in, out = vectors()
	if err := c.Reduce(ctx, Of(in), Of(out), Sum, 0); err != nil {
		return err
	}
	if c.Rank() == 0 {
		if err := check("Reduce", out, total); err != nil {
			return err
		}
	}
	in, out = vectors()
	if err := c.AllReduce(ctx, Of(in), Of(out), Sum); err != nil {
		return err
	}
	if err := check("AllReduce", out, total); err != nil {
		return err
	}
	all := make([]float32, p*n)
	if err := c.Gather(ctx, Of(fill[float32](c.Rank(), n)), Of(all), 1); err != nil {
		return err
	}
	if c.Rank() == 1 {
		if err := check("Gather", all, from); err != nil {
			return err
		}
	}
	clear(all)
	if err := c.AllGather(ctx, Of(fill[float32](c.Rank(), n)), Of(all)); err != nil {
		return err
	}
	return check("AllGather", all, from)
}

// The user's function is called by its own rank's goroutine alone, however long the vectors.
func TestUserFunctionIsNotShared(t *testing.T) {
	before := runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0)))
	defer runtime.GOMAXPROCS(before)
	const n = 600_000
	for _, deterministic := range []bool{false, true} {
		comms := world(t, 2, Options{Deterministic: deterministic})
		must(t, comms, func(c *Comm) error {
			var inside atomic.Int32
			twice := false
			sum := NewOp("sum of one goroutine", true, func(a, b int32) int32 {
				if inside.Add(1) > 1 {
					twice = true
				}
				inside.Add(-1)
				return a + b
			})
			out := make([]int32, n)
			if err := c.Reduce(context.Background(), Of(fill[int32](c.Rank(), n)), Of(out), sum, 0); err != nil {
				return err
			}
			if twice {
				return fmt.Errorf("the function was called twice at once")
			}
			for i, x := range out {
				if want := value(0, int64(i)) + value(1, int64(i)); c.Rank() == 0 && x != int32(want) {
					return fmt.Errorf("element %d is %d, not %d", i, x, want)
				}
			}
			return nil
		})
	}
}
