package collective

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/collective/transport"
	"github.com/volley-go/volley/device"
)

// hasty is an endpoint whose splits end at once, as if another rank had given up.
type hasty struct{ transport.Endpoint }

func (h hasty) Split(context.Context, string, []int) (transport.Endpoint, error) {
	return nil, &transport.PeerError{Err: errors.New("a rank could not join")}
}

// A rank whose group comes to nothing because of another one returns the Fault that all have, also where the transport says so
// long before it is settled.
func TestSubWaitsForTheVerdict(t *testing.T) {
	ctx := context.Background()
	for name, open := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := quick
			o.Heartbeat, o.Deadline = 50*time.Millisecond, limit
			ends := open(t, 3)
			ends[2] = hasty{ends[2]}
			ranks := [][]int{{0, 1, 2}, {0, 1}, {0, 1, 2}}
			errs := each(t, over(t, ends, o), func(c *Comm) error { return second(c.Sub(ctx, ranks[c.Rank()])) })
			sameFault(t, errs, []int{0, 1, 2}, Mismatch, []int{0, 1})
		})
	}
}

// A rank whose group comes to nothing because another one's call has ended does not wait for a Fault: it says so.
func TestSubEndsWhereAnotherGaveUp(t *testing.T) {
	for name, open := range transports {
		for _, before := range []bool{false, true} {
			t.Run(name+map[bool]string{false: "/meanwhile", true: "/before"}[before], func(t *testing.T) {
				t.Parallel()
				o := quick
				o.Deadline = 2 * limit
				ends := open(t, 3)
				ends[2] = hasty{ends[2]}
				gone := make(chan struct{})
				errs := each(t, over(t, ends, o), func(c *Comm) error {
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					switch {
					case c.Rank() < 2:
						time.AfterFunc(20*time.Millisecond, cancel)
					case before:
						<-gone
					}
					err := second(c.Sub(ctx, []int{0, 1, 2}))
					if c.Rank() == 0 {
						close(gone)
					}
					return err
				})
				require.ErrorIs(t, errs[0], context.Canceled)
				require.ErrorIs(t, errs[2], device.ErrUnavailable)
				require.ErrorContains(t, errs[2], "a rank could not join")
			})
		}
	}
}
