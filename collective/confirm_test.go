package collective

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// vectors are a rank's, the same ones for all its calls, so that the Comm knows a call that comes again.
type vectors struct{ in, out, both, long, triangle []int32 }

func newVectors(c *Comm) *vectors {
	n := c.Size()
	return &vectors{make([]int32, 1), make([]int32, 1), make([]int32, 1), make([]int32, n), make([]int32, n*(n+1)/2)}
}

// rooted are calls with a root, of short vectors.
var rooted = map[string]func(ctx context.Context, c *Comm, v *vectors, root int) error{
	"Broadcast": func(ctx context.Context, c *Comm, v *vectors, root int) error {
		return c.Broadcast(ctx, Of(v.both), Of(v.both), root)
	},
	"Reduce": func(ctx context.Context, c *Comm, v *vectors, root int) error {
		return c.Reduce(ctx, Of(v.in), Of(v.out), Sum, root)
	},
	"Gather": func(ctx context.Context, c *Comm, v *vectors, root int) error {
		return c.Gather(ctx, Of(v.in), Of(v.long), root)
	},
	"Scatter": func(ctx context.Context, c *Comm, v *vectors, root int) error {
		return c.Scatter(ctx, Of(v.long), Of(v.out), root)
	},
	"GatherV": func(ctx context.Context, c *Comm, v *vectors, root int) error {
		counts := make([]int64, c.Size())
		for r := range counts {
			counts[r] = int64(r + 1)
		}
		return c.GatherV(ctx, Of(v.triangle[:c.Rank()+1]), Of(make([]int32, len(v.triangle))), counts, root)
	},
}

// rootless are calls without one.
var rootless = map[string]func(ctx context.Context, c *Comm, v *vectors, root int) error{
	"AllReduce": func(ctx context.Context, c *Comm, v *vectors, _ int) error {
		return c.AllReduce(ctx, Of(v.in), Of(v.out), Sum)
	},
	"AllReduce of nothing": func(ctx context.Context, c *Comm, v *vectors, _ int) error {
		return c.AllReduce(ctx, Of(v.in[:0]), Of(v.out[:0]), Sum)
	},
	"Broadcast of nothing": func(ctx context.Context, c *Comm, v *vectors, root int) error {
		return c.Broadcast(ctx, Of(v.in[:0]), Of(v.in[:0]), root)
	},
	"Barrier": func(ctx context.Context, c *Comm, _ *vectors, _ int) error { return c.Barrier(ctx) },
}

// histories are what the ranks have called before, alike: 0 is the one call, 1 the other.
var histories = map[string][]int{
	"nothing":   nil,
	"both":      {0, 1},
	"the other": {1, 0},
	"again":     {0, 0, 1, 0, 0, 0, 0, 0},
	"other":     {1, 1, 0, 1, 1, 1, 1},
	"turns":     {0, 1, 0, 1, 0, 1, 0},
	"branches":  {0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0},
}

// Ranks that disagree about the call or its root never all return without an error: whoever is in the wrong, the call itself
// says so and not the next one, whatever they called before.
func TestNoMismatchPassesEverywhere(t *testing.T) {
	theirs := maps.Clone(rooted)
	maps.Copy(theirs, rootless)
	for transport, open := range transports {
		most := 4
		if testing.Short() && (transport == "tcp" || transport == "mixed") {
			most = 3
		}
		for n := 2; n <= most; n++ {
			for before, calls := range histories {
				t.Run(fmt.Sprintf("%s/%d ranks/%s before", transport, n, before), func(t *testing.T) {
					t.Parallel()
					at := 0
					for first, mine := range rooted {
						for second, theirs := range theirs {
							for who := range n {
								if at++; (testing.Short() || transport != "inproc") && at%len(histories) != len(before)%len(histories) {
									continue // the others of these are over other transports
								}
								comms := over(t, open(t, n), Options{Heartbeat: 5 * time.Millisecond})
								mismatched(t, comms, fmt.Sprintf("%s meets %s of rank %d", first, second, who), who, mine, theirs, calls)
							}
						}
					}
				})
			}
		}
	}
}

// mismatched has one rank make another call than the others, with another root.
func mismatched(t *testing.T, comms []*Comm, name string, who int, mine, theirs func(ctx context.Context, c *Comm, v *vectors, root int) error, before []int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	all := make([]*vectors, len(comms))
	must(t, comms, func(c *Comm) error {
		v := newVectors(c)
		all[c.Rank()] = v
		for _, which := range before {
			if err := map[int]func(ctx context.Context, c *Comm, v *vectors, root int) error{0: mine, 1: theirs}[which](ctx, c, v, which); err != nil {
				return err
			}
		}
		return nil
	})
	errs := each(t, comms, func(c *Comm) error {
		if c.Rank() == who {
			return theirs(ctx, c, all[c.Rank()], 1)
		}
		return mine(ctx, c, all[c.Rank()], 0)
	})
	require.Error(t, errors.Join(errs...), name)
	require.NoError(t, ctx.Err(), name)
	for r, err := range errs {
		if err != nil {
			var f *Fault
			require.ErrorAs(t, err, &f, "%s: rank %d", name, r)
			require.Equal(t, Mismatch, f.Cause, "%s: %v", name, f)
		}
	}
	must(t, comms, (*Comm).Close)
}

// What agrees passes, however many kinds of calls there are and however ranks give their vectors, the same ones again or others.
func TestConfirmedCallsGoOn(t *testing.T) {
	comms := world(t, 3, Options{})
	ctx := t.Context()
	must(t, comms, func(c *Comm) error {
		own := make([]int32, keptKinds+10)
		for range 2 {
			for n := 1; n < len(own); n++ {
				v := own[:n]
				if c.Rank() == 1 {
					v = make([]int32, n)
				}
				v[n-1] = int32(c.Rank())
				for range 2 {
					if err := c.Broadcast(ctx, Of(v), Of(v), 2); err != nil {
						return err
					}
				}
				if v[n-1] != 2 {
					return fmt.Errorf("%d elements come wrong", n)
				}
			}
			if err := c.Broadcast(ctx, Of(own[:1]), Of(own[:1]), 2); err != nil {
				return err
			}
			for n := 2; n < len(own); n++ {
				if err := c.BroadcastAsync(ctx, Of(own[:n]), Of(own[:n]), 0).Wait(ctx); err != nil {
					return err
				}
			}
			v := own[:1]
			if c.Rank() == 1 {
				v = make([]int32, 1)
			}
			if err := c.Broadcast(ctx, Of(v), Of(v), 2); err != nil {
				return err
			}
		}
		return nil
	})
}
