package collective

import (
	"context"

	"github.com/volley-go/volley/collective/algorithm"
)

// Reduce combines the vectors of all ranks element by element into the root's out,
// which may be its in. Other ranks give no out.
func (c *Comm) Reduce(ctx context.Context, in, out Vector, op Op, root int) error {
	held, same := c.repeats(algorithm.Reduce, in, out, op.code, root)
	if same {
		return c.repeat(ctx)
	}
	r, err := c.reduce(in, out, op, root)
	return c.do(ctx, held, r, err)
}

// ReduceAsync starts a Reduce.
func (c *Comm) ReduceAsync(ctx context.Context, in, out Vector, op Op, root int) *Handle {
	r, err := c.reduce(in, out, op, root)
	return c.begin(ctx, r, err)
}

func (c *Comm) reduce(in, out Vector, op Op, root int) (*request, error) {
	r, err := c.request(algorithm.Reduce, in, out, op, root, nil)
	if err != nil {
		return nil, err
	}
	if r.call.Rank != root {
		r.out = Vector{}
	}
	r.call.Count = in.Len()
	return r, r.lengths()
}
