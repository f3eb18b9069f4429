package collective

import (
	"context"

	"github.com/volley-go/volley/collective/algorithm"
)

// Scatter gives rank r the r-th of the Size equal blocks of the root's in, which
// has Size times as many elements as out. Other ranks give no in. In place, the root's out is
// its own block of in, which stays as it is.
func (c *Comm) Scatter(ctx context.Context, in, out Vector, root int) error {
	held, same := c.repeats(algorithm.Scatter, in, out, 0, root)
	if same {
		return c.repeat(ctx)
	}
	r, err := c.scatter(in, out, nil, root)
	return c.do(ctx, held, r, err)
}

// ScatterV is a Scatter whose block for rank r has counts[r] elements.
func (c *Comm) ScatterV(ctx context.Context, in, out Vector, counts []int64, root int) error {
	r, err := c.scatter(in, out, counts, root)
	return c.do(ctx, false, r, err)
}

func (c *Comm) scatter(in, out Vector, counts []int64, root int) (*request, error) {
	if c.Rank() != root {
		in = Vector{}
	}
	r, err := c.request(algorithm.Scatter, in, out, Op{}, root, counts)
	if err != nil {
		return nil, err
	}
	if counts == nil {
		r.call.Count = out.Len()
	}
	return r, r.lengths()
}
