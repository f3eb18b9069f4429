package collective

import (
	"context"
	"testing"
	"time"

	"github.com/volley-go/volley/collective/transport"
)

// late is an endpoint whose rank does not run for some time before it receives, as on a
// busy machine.
type late struct {
	transport.Endpoint
	by time.Duration
}

func (l *late) Recv(from int, want *transport.Header, sink *transport.Sink) error {
	time.Sleep(l.by)
	return l.Endpoint.Recv(from, want, sink)
}

// A rank that closes its Comm when its last operation is done is no trouble for one that is
// still in it, however late that one is; only for one that wants more of it.
func TestLeavesBehindTheLastOperation(t *testing.T) {
	for name, open := range transports {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ends := open(t, 2)
			ends[1] = &late{ends[1], 4 * pause}
			comms := over(t, ends, quick)
			must(t, comms, func(c *Comm) error {
				v := make([]float32, 100)
				if c.Rank() == 0 {
					v[99] = 7
				}
				if err := c.Broadcast(context.Background(), Of(v), Of(v), 0); err != nil || v[99] != 7 {
					t.Errorf("rank %d: %v, and the last element is %v", c.Rank(), err, v[99])
				}
				if c.Rank() == 0 {
					return c.Close()
				}
				return nil
			})
			errs := each(t, comms[1:], func(c *Comm) error { return c.Barrier(context.Background()) })
			errs = []error{nil, errs[0]}
			sameFault(t, errs, []int{1}, Left, []int{0})
		})
	}
}
