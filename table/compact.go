package table

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
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
	keys   func(columns []*memory.Column) []*memory.Column       // that tell apart rows that stay; nil where the number that stays is given
}

// Prepare does nothing.
func (c *compactor) Prepare(context.Context) error { return nil }

// Make makes a compacted of no rows.
func (c *compactor) Make(context.Context) (exec.SinkState, error) { return c.make(), nil }

func (c *compactor) make() *compacted {
	return &compacted{r: c.r, schema: c.schema, shrink: c.shrink, keys: c.keys, of: c}
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
	if err == nil {
		all, err = each(ctx, all, c.finish)
	}
	if err != nil {
		return nil, wrapError(c.what, err)
	}
	return exec.Batches(all...), nil
}

// each makes one batch of each, which it releases.
func each(ctx context.Context, all []*Batch, what func(context.Context, *Batch) (*Batch, error)) (out []*Batch, err error) {
	defer exec.ReleaseAll(all)
	for _, b := range all {
		o, err := what(ctx, b)
		if err != nil {
			exec.ReleaseAll(out)
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// compacted is batches, and what earlier ones shrank to. It shrinks when it holds twice what
// the last time left, so that all passes together cost as much as a few over everything. Where
// a sample shows that more than half would stay, it holds up to manyPieces of its floor first.
type compacted struct {
	r      *runner
	schema *arrow.Schema
	shrink func(ctx context.Context, b *Batch) (*Batch, error)
	keys   func(columns []*memory.Column) []*memory.Column
	of     *compactor // nil inside of another state
	held   []*Batch
	rows   int64
	limit  int64
	done   bool // held is one batch that shrink gave
	ends   bool // there are no more batches

	patient bool // it shrinks only where a sample shows that it leaves half
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
	if rise, err := c.rise(ctx); err != nil || rise {
		c.limit = 2 * c.rows
		return err
	}
	if c.keys != nil && (c.patient || c.rows < c.r.limit(manyPieces*compactFloor)) {
		if few, err := c.r.repeats(ctx, c.held, c.keys, 2); err != nil || !few {
			c.limit = c.rows + max(c.r.limit(compactFloor), c.rows/manyPieces)
			return err
		}
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

// finish is what stands for all batches: one batch, or several whose keys rise from each to the
// next. The caller gets the references.
func (c *compacted) finish(ctx context.Context) ([]*Batch, error) {
	c.ends = true
	rise, err := c.rise(ctx)
	if err == nil && !rise && !c.done {
		err = c.compact(ctx)
	}
	if err != nil {
		return nil, err
	}
	all := c.held
	c.held = nil
	return all, nil
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

// rise reports whether the keys of the batches rise, within each and from each to the next, as in
// a table that is ordered by its key. Then only the last row of one and the first of the next may
// be of one group, and these are merged; no row of another is looked at.
func (c *compacted) rise(ctx context.Context) (bool, error) {
	shared, ok := c.sharedEnds()
	if !ok || !slices.Contains(shared, true) {
		return ok, nil
	}
	merged, err := c.mergedEnds(ctx, shared)
	if overflowOf(err) != nil { // which the shrinking of all rows may tell more of
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer merged.Release()
	var out []*Batch
	cut := func(b *Batch, from, n int64) error {
		if n <= 0 {
			return nil
		}
		part, err := b.Slice(from, n)
		if err == nil {
			out = append(out, part)
		}
		return err
	}
	group := int64(0)
	for i, b := range c.held {
		from, to := int64(0), b.Len()
		if shared[i] {
			from = 1
		}
		if shared[i+1] {
			to--
		}
		err := cut(b, from, to-from)
		if begins := shared[i+1] && (b.Len() > 1 || !shared[i]); err == nil && begins {
			err = cut(merged, group, 1)
			group++
		}
		if err != nil {
			exec.ReleaseAll(out)
			return false, err
		}
	}
	exec.ReleaseAll(c.held)
	c.held, c.rows, c.done = out, exec.RowsOf(out), false
	return true, nil
}

// sharedEnds says of each batch whether its first key is the last of the batch before; a last
// entry is false. It is not ok where keys do not rise.
func (c *compacted) sharedEnds() (shared []bool, ok bool) {
	if c.keys == nil || !c.r.onHost() {
		return nil, false
	}
	shared = make([]bool, len(c.held)+1)
	last := int64(0)
	for i, b := range c.held {
		keys := c.keys(b.Columns())
		if len(keys) != 1 || b.Len() == 0 || !canRise(keys[0]) {
			return nil, false
		}
		first := kernels.ScalarAt(keys[0], 0).Int64()
		if i > 0 && first < last {
			return nil, false
		}
		shared[i] = i > 0 && first == last
		if !columnRises(keys[0], &last, false) {
			return nil, false
		}
	}
	return shared, true
}

// mergedEnds is a row for each group that has rows in several batches.
func (c *compacted) mergedEnds(ctx context.Context, shared []bool) (*Batch, error) {
	var ends []*Batch
	for i, b := range c.held {
		var rows []int64
		if shared[i] {
			rows = append(rows, 0)
		}
		if shared[i+1] && (b.Len() > 1 || !shared[i]) {
			rows = append(rows, b.Len()-1)
		}
		for _, row := range rows {
			end, err := b.Slice(row, 1)
			if err != nil {
				exec.ReleaseAll(ends)
				return nil, err
			}
			ends = append(ends, end)
		}
	}
	all, err := c.r.concat(ctx, c.schema, ends)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	return c.shrink(ctx, all)
}
