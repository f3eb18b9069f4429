package collective

import (
	"context"

	"github.com/volley-go/volley/collective/algorithm"
)

// AllGather gives every rank the vectors of all, in the order of ranks. out has
// Size times as many elements as in, which may be the rank's own block of out.
func (c *Comm) AllGather(ctx context.Context, in, out Vector) error {
	held, same := c.repeats(algorithm.AllGather, in, out, 0, 0)
	if same {
		return c.repeat(ctx)
	}
	r, err := c.allGather(in, out, nil)
	return c.do(ctx, held, r, err)
}

// AllGatherAsync starts an AllGather.
func (c *Comm) AllGatherAsync(ctx context.Context, in, out Vector) *Handle {
	r, err := c.allGather(in, out, nil)
	return c.begin(ctx, r, err)
}

// AllGatherV is an AllGather in which rank r gives counts[r] elements.
func (c *Comm) AllGatherV(ctx context.Context, in, out Vector, counts []int64) error {
	r, err := c.allGather(in, out, counts)
	return c.do(ctx, false, r, err)
}

func (c *Comm) allGather(in, out Vector, counts []int64) (*request, error) {
	r, err := c.request(algorithm.AllGather, in, out, Op{}, 0, counts)
	if err != nil {
		return nil, err
	}
	if counts == nil {
		r.call.Count = in.Len()
	}
	return r, r.lengths()
}
