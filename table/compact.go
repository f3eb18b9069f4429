package table

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/flow/exec"
)

// compactFloor is how many rows a compactor gathers at least before it shrinks
// them: small batches are not worth a pass each.
const compactFloor = 1 << 20

// compactor is a sink that gathers batches and shrinks them to what stands for them all: the
// first k rows, or the distinct rows.
type compactor struct {
	r      *runner
	schema *arrow.Schema
	what   string                                                // for errors
	early  func(ctx context.Context, b *Batch) (*Batch, error)   // shrinks a morsel where that is worth it
	shrink func(ctx context.Context, b *Batch) (*Batch, error)   // shrinks what is gathered
	finish func(ctx context.Context, all *Batch) (*Batch, error) // makes the result of what all rows shrink to
}

// Prepare does nothing.
func (c *compactor) Prepare(context.Context) error { return nil }

// Make makes a compacted of no rows.
func (c *compactor) Make(context.Context) (exec.SinkState, error) { return c.make(), nil }

func (c *compactor) make() *compacted {
	return &compacted{r: c.r, schema: c.schema, shrink: c.shrink, of: c}
}

// Close does nothing.
func (c *compactor) Close() {}

// Finish gives what stands for all rows.
func (c *compactor) Finish(ctx context.Context, rows exec.SinkState) (exec.Source, error) {
	s := rows.(*compacted)
	defer s.Close()
	if !s.any() {
		return exec.Batches(), nil
	}
	all, err := s.finish(ctx)
	if err != nil {
		return nil, wrapError(c.what, err)
	}
	defer all.Release()
	out, err := c.finish(ctx, all)
	if err != nil {
		return nil, wrapError(c.what, err)
	}
	return exec.Batches(out), nil
}

// compacted is batches, and what earlier ones shrank to. It shrinks when it holds twice what
// the last time left, so that all passes together cost as much as a few over everything.
type compacted struct {
	r      *runner
	schema *arrow.Schema
	shrink func(ctx context.Context, b *Batch) (*Batch, error)
	of     *compactor // nil inside of another state
	held   []*Batch
	rows   int64
	limit  int64
	done   bool // held is one batch that shrink gave
	ends   bool // there are no more batches
}

// Update keeps a batch, or what it shrinks to by itself.
func (c *compacted) Update(ctx context.Context, b *Batch) error {
	small, err := c.of.early(ctx, b)
	b.Release()
	if err != nil {
		return wrapError(c.of.what, err)
	}
	c.held, c.rows, c.done = append(c.held, small), c.rows+small.Len(), false
	return nil
}

// Merge adds what another holds.
func (c *compacted) Merge(ctx context.Context, later exec.SinkState) error {
	l := later.(*compacted)
	defer l.Close()
	for len(l.held) > 0 {
		b := l.held[0]
		l.held = l.held[1:]
		if err := c.add(ctx, b); err != nil {
			return wrapError(c.of.what, err)
		}
	}
	return nil
}

// add takes over a batch.
func (c *compacted) add(ctx context.Context, b *Batch) error {
	c.held = append(c.held, b)
	c.rows += b.Len()
	c.done = false
	if c.rows < max(c.limit, c.r.limit(compactFloor)) {
		return nil
	}
	return c.compact(ctx)
}

func (c *compacted) compact(ctx context.Context) error {
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
func (c *compacted) finish(ctx context.Context) (*Batch, error) {
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
func (c *compacted) any() bool { return len(c.held) > 0 }

// Rows is how many rows are held.
func (c *compacted) Rows() int64 { return exec.RowsOf(c.held) }

// Size is how many bytes they take.
func (c *compacted) Size() int64 { return exec.SizeOf(c.held) }

// Write gives the batches, of which the first says when they are to be shrunk.
func (c *compacted) Write(context.Context) ([]*Batch, error) {
	return c.written(nil)
}

func (c *compacted) written(more notes) ([]*Batch, error) {
	n := notes{"limit": c.limit}
	if c.done {
		n["done"] = 1
	}
	return written(c.held, n.with(more), more)
}

// Read holds batches that Write wrote.
func (c *compacted) Read(_ context.Context, batches []*Batch) error {
	for i, b := range batches {
		if i == 0 {
			n := notesOf(b)
			c.limit, c.done = n["limit"], n["done"] != 0
		}
		plain, err := withSchema(b, c.schema)
		b.Release()
		if err != nil {
			exec.ReleaseAll(batches[i+1:])
			return err
		}
		c.held, c.rows = append(c.held, plain), c.rows+plain.Len()
	}
	return nil
}

// Close releases what is held.
func (c *compacted) Close() {
	if c == nil {
		return
	}
	exec.ReleaseAll(c.held)
	c.held = nil
}
