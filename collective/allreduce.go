package collective

import (
	"context"

	"github.com/volley-go/volley/collective/algorithm"
)

// AllReduce combines the vectors of all ranks element by element and gives every
// rank the result. in and out are of the same length and type on all ranks; they
// may be the same memory.
func (c *Comm) AllReduce(ctx context.Context, in, out Vector, op Op) error {
	held, same := c.repeats(algorithm.AllReduce, in, out, op.code, 0)
	if same {
		return c.repeat(ctx)
	}
	r, err := c.allReduce(in, out, op)
	return c.do(ctx, held, r, err)
}

// AllReduceAsync starts an AllReduce.
func (c *Comm) AllReduceAsync(ctx context.Context, in, out Vector, op Op) *Handle {
	r, err := c.allReduce(in, out, op)
	return c.begin(ctx, r, err)
}

func (c *Comm) allReduce(in, out Vector, op Op) (*request, error) {
	r, err := c.request(algorithm.AllReduce, in, out, op, 0, nil)
	if err != nil {
		return nil, err
	}
	r.call.Count = in.Len()
	return r, r.lengths()
}
