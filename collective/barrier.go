package collective

import (
	"context"

	"github.com/volley-go/volley/collective/algorithm"
)

// Barrier returns when all ranks have called it.
func (c *Comm) Barrier(ctx context.Context) error {
	held, same := c.repeats(algorithm.Barrier, Vector{}, Vector{}, 0, 0)
	if same {
		return c.repeat(ctx)
	}
	r, err := c.request(algorithm.Barrier, Vector{}, Vector{}, Op{}, 0, nil)
	return c.do(ctx, held, r, err)
}
