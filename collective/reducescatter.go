package collective

import (
	"context"

	"github.com/volley-go/volley/collective/algorithm"
)

// ReduceScatter combines the vectors of all ranks element by element and gives rank
// r the r-th of the Size equal blocks of the result. in has Size times as many
// elements as out, which may be the rank's own block of in.
func (c *Comm) ReduceScatter(ctx context.Context, in, out Vector, op Op) error {
	held, same := c.repeats(algorithm.ReduceScatter, in, out, op.code, 0)
	if same {
		return c.repeat(ctx)
	}
	r, err := c.reduceScatter(in, out, op, nil)
	return c.do(ctx, held, r, err)
}

// ReduceScatterAsync starts a ReduceScatter.
func (c *Comm) ReduceScatterAsync(ctx context.Context, in, out Vector, op Op) *Handle {
	r, err := c.reduceScatter(in, out, op, nil)
	return c.begin(ctx, r, err)
}

// ReduceScatterV is a ReduceScatter whose block for rank r has counts[r] elements.
func (c *Comm) ReduceScatterV(ctx context.Context, in, out Vector, counts []int64, op Op) error {
	r, err := c.reduceScatter(in, out, op, counts)
	return c.do(ctx, false, r, err)
}

func (c *Comm) reduceScatter(in, out Vector, op Op, counts []int64) (*request, error) {
	r, err := c.request(algorithm.ReduceScatter, in, out, op, 0, counts)
	if err != nil {
		return nil, err
	}
	if counts == nil {
		r.call.Count = out.Len()
	}
	return r, r.lengths()
}
