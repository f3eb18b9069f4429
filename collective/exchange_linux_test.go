package collective

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/volley-go/volley/collective/algorithm"
)

// Exchanges of lengths that have two ways, one after the other, with vectors that change as soon as a call has
// returned; then one rank cancels, and all get the same Fault.
func TestExchangesAgainAndAgain(t *testing.T) {
	for _, ranks := range []int{2, 4} {
		t.Run(fmt.Sprint(ranks), func(t *testing.T) {
			comms := over(t, openShm(t, ranks), Options{})
			for _, block := range []int{5_000, 16 << 10, 60_001} {
				must(t, comms, func(c *Comm) error { return exchangeAgain(c, block, 100) })
			}
			ctx, cancel := context.WithCancelCause(context.Background())
			errs := each(t, comms, func(c *Comm) error {
				in, out := make([]float32, ranks*30_000), make([]float32, ranks*30_000)
				for i := 0; ; i++ {
					mine := context.Background()
					if c.Rank() == ranks-1 {
						if mine = ctx; i == 20 {
							cancel(errors.New("enough"))
						}
					}
					if err := c.AllToAll(mine, Of(in), Of(out)); err != nil {
						return err
					}
				}
			})
			for r, err := range errs {
				var f *Fault
				if !errors.As(err, &f) || f.Cause != Canceled || f.By != ranks-1 {
					t.Errorf("rank %d got %v", r, err)
				}
			}
		})
	}
}

// exchangeAgain does so many all-to-alls and all-gathers of blocks of so many elements.
func exchangeAgain(c *Comm, block, times int) error {
	ctx, ranks, me := context.Background(), c.Size(), c.Rank()
	in, out := make([]float32, ranks*block), make([]float32, ranks*block)
	number := func(from, to, call int) float32 { return float32(call*ranks*ranks + from*ranks + to) }
	for call := range times {
		for i := range in {
			in[i] = number(me, i/block, call)
		}
		if err := c.AllToAll(ctx, Of(in), Of(out)); err != nil {
			return err
		}
		clear(in)
		for i, v := range out {
			if v != number(i/block, me, call) {
				return fmt.Errorf("all-to-all %d: element %d is %v", call, i, v)
			}
		}
		for i := range block {
			in[i] = number(me, me, call)
		}
		if err := c.AllGather(ctx, Of(in[:block]), Of(out)); err != nil {
			return err
		}
		clear(in)
		for i, v := range out {
			if v != number(i/block, i/block, call) {
				return fmt.Errorf("all-gather %d: element %d is %v", call, i, v)
			}
		}
	}
	return nil
}

// What counts as an exchange.
func TestMutual(t *testing.T) {
	for _, p := range []struct {
		op   algorithm.Op
		name string
		want bool
	}{{algorithm.AllToAll, "linear", true}, {algorithm.AllGather, "linear", true}, {algorithm.AllGather, "ring", false}, {algorithm.Broadcast, "linear", false},
		{algorithm.ReduceScatter, "direct", false}, {algorithm.Gather, "linear", false}, {algorithm.AllReduce, "direct", false}} {
		a, err := algorithm.Named(p.name, p.op)
		if err != nil {
			t.Fatal(err)
		}
		for rank := range 4 {
			program := &program{plan: a.Plan(algorithm.Call{Op: p.op, Rank: rank, Size: 4, Count: 1000})}
			program.write(4)
			if program.mutual != p.want {
				t.Errorf("%s %s of rank %d: %v with rounds %+v", p.name, p.op, rank, program.mutual, slices.Clip(program.rounds))
			}
		}
	}
}
