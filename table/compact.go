package table

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
)

// compactFloor is how many rows a compactor gathers at least before it shrinks
// them: small batches are not worth a pass each.
const compactFloor = 1 << 20

// compactor gathers batches and shrinks them to what stands for them all: the
// first k rows, the distinct rows, the partial aggregates of groups. It shrinks
// when it holds twice what the last time left, so that all passes together
// cost as much as a few over everything.
type compactor struct {
	r      *runner
	schema *arrow.Schema
	shrink func(ctx context.Context, b *Batch) (*Batch, error)
	held   []*Batch
	rows   int64
	limit  int64
	done   bool // held is one batch that shrink gave
	ends   bool // there are no more batches
}

// add takes over a batch.
func (c *compactor) add(ctx context.Context, b *Batch) error {
	c.held = append(c.held, b)
	c.rows += b.Len()
	c.done = false
	if c.rows < max(c.limit, c.r.limit(compactFloor)) {
		return nil
	}
	return c.compact(ctx)
}

func (c *compactor) compact(ctx context.Context) error {
	held := c.held
	c.held, c.rows = nil, 0
	all, err := c.r.concat(ctx, c.schema, held)
	if err != nil {
		return err
	}
	small, err := c.shrink(ctx, all)
	if overflowOf(err) != nil && !c.ends { // with what comes yet it may fit
		c.held, c.rows, c.limit = []*Batch{all}, all.Len(), 2*all.Len()
		return nil
	}
	all.Release()
	if err != nil {
		return err
	}
	c.held, c.rows, c.limit, c.done = []*Batch{small}, small.Len(), 2*small.Len(), true
	return nil
}

// finish is what stands for all batches; the caller gets the reference.
func (c *compactor) finish(ctx context.Context) (*Batch, error) {
	c.ends = true
	if !c.done {
		if err := c.compact(ctx); err != nil {
			return nil, err
		}
	}
	b := c.held[0]
	c.held = nil
	return b, nil
}

// any reports whether something was added.
func (c *compactor) any() bool { return len(c.held) > 0 }

// release gives back what is held.
func (c *compactor) release() {
	if c == nil {
		return
	}
	for _, b := range c.held {
		b.Release()
	}
	c.held = nil
}
