package collective

import (
	"context"

	"github.com/volley-go/volley/collective/algorithm"
)

// Gather gives the root the vectors of all ranks, in their order: the root's out
// has Size times as many elements as in. Other ranks give no out. In place, the root's in is
// its own block of out.
func (c *Comm) Gather(ctx context.Context, in, out Vector, root int) error {
	held, same := c.repeats(algorithm.Gather, in, out, 0, root)
	if same {
		return c.repeat(ctx)
	}
	r, err := c.gather(in, out, nil, root)
	return c.do(ctx, held, r, err)
}

// GatherV is a Gather in which rank r gives counts[r] elements.
func (c *Comm) GatherV(ctx context.Context, in, out Vector, counts []int64, root int) error {
	r, err := c.gather(in, out, counts, root)
	return c.do(ctx, false, r, err)
}

func (c *Comm) gather(in, out Vector, counts []int64, root int) (*request, error) {
	if c.Rank() != root {
		out = Vector{}
	}
	r, err := c.request(algorithm.Gather, in, out, Op{}, root, counts)
	if err != nil {
		return nil, err
	}
	if counts == nil {
		r.call.Count = in.Len()
	}
	return r, r.lengths()
}
