package collective

import (
	"context"

	"github.com/volley-go/volley/collective/algorithm"
)

// Broadcast gives the root's in to all ranks' out. Other ranks give no in; the
// root's out may be its in.
func (c *Comm) Broadcast(ctx context.Context, in, out Vector, root int) error {
	held, same := c.repeats(algorithm.Broadcast, in, out, 0, root)
	if same {
		return c.repeat(ctx)
	}
	r, err := c.broadcast(in, out, root)
	return c.do(ctx, held, r, err)
}

// BroadcastAsync starts a Broadcast.
func (c *Comm) BroadcastAsync(ctx context.Context, in, out Vector, root int) *Handle {
	r, err := c.broadcast(in, out, root)
	return c.begin(ctx, r, err)
}

func (c *Comm) broadcast(in, out Vector, root int) (*request, error) {
	if c.Rank() != root {
		in = Vector{}
	}
	r, err := c.request(algorithm.Broadcast, in, out, Op{}, root, nil)
	if err != nil {
		return nil, err
	}
	r.call.Count = out.Len()
	return r, r.lengths()
}
