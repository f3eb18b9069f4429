package collective

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// rooted are calls with a root, of short vectors.
var rooted = map[string]func(ctx context.Context, c *Comm, root int) error{
	"Broadcast": func(ctx context.Context, c *Comm, root int) error {
		v := Of([]int32{int32(c.Rank())})
		return c.Broadcast(ctx, v, v, root)
	},
	"Reduce": func(ctx context.Context, c *Comm, root int) error {
		in, out := Of([]int32{1}), Of(make([]int32, 1))
		return c.Reduce(ctx, in, out, Sum, root)
	},
	"Gather": func(ctx context.Context, c *Comm, root int) error {
		return c.Gather(ctx, Of([]int32{1}), Of(make([]int32, c.Size())), root)
	},
	"Scatter": func(ctx context.Context, c *Comm, root int) error {
		return c.Scatter(ctx, Of(make([]int32, c.Size())), Of(make([]int32, 1)), root)
	},
	"GatherV": func(ctx context.Context, c *Comm, root int) error {
		counts := make([]int64, c.Size())
		for r := range counts {
			counts[r] = int64(r + 1)
		}
		return c.GatherV(ctx, Of(make([]int32, c.Rank()+1)), Of(make([]int32, c.Size()*(c.Size()+1)/2)), counts, root)
	},
}

// Ranks that disagree about the call or its root never all return without an error: whoever is in the wrong, the call itself
// says so and not the next one.
func TestNoMismatchPassesEverywhere(t *testing.T) {
	for transport, open := range transports {
		for n := 2; n <= 4; n++ {
			t.Run(fmt.Sprintf("%s/%d ranks", transport, n), func(t *testing.T) {
				t.Parallel()
				for mine := range rooted {
					for theirs := range rooted {
						for who := range n {
							mismatched(t, over(t, open(t, n), Options{Heartbeat: 5 * time.Millisecond}), mine, theirs, who)
						}
					}
				}
			})
		}
	}
}

// mismatched has one rank make another call than the others, with another root.
func mismatched(t *testing.T, comms []*Comm, mine, theirs string, who int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	errs := each(t, comms, func(c *Comm) error {
		if c.Rank() == who {
			return rooted[theirs](ctx, c, 1)
		}
		return rooted[mine](ctx, c, 0)
	})
	require.Error(t, errors.Join(errs...), "%s meets %s of rank %d", mine, theirs, who)
	require.NoError(t, ctx.Err(), "%s meets %s of rank %d", mine, theirs, who)
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
