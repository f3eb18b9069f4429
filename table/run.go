package table

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// runner is what the pipelines of one run share.
type runner struct {
	backend *kernels.Backend
	stream  device.Stream
	morsel  int64 // rows of a morsel
	shared  sharedRows
	keys    handedKeys
	unique  uniqueSides
	prof    *profiler
}

// Batches runs the query and gives its rows batch by batch, as they are made.
// A batch is there when the loop's body begins, and is released after it: Retain
// one to keep it. After an error, which comes with a nil batch, the loop ends.
func (q *Query) Batches(ctx context.Context) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		err := q.run(ctx, func(b *Batch, s device.Stream) (bool, error) {
			defer b.Release()
			if err := s.Wait(ctx); err != nil { // what reads it has streams of its own
				return false, err
			}
			return yield(b, nil), nil
		}, nil, nil)
		if err != nil {
			yield(nil, err)
		}
	}
}

// Collect runs the query and gives its rows as a table on the query's backend,
// in chunks as they were made.
func (q *Query) Collect(ctx context.Context) (*Table, error) { return q.collect(ctx, nil) }

func (q *Query) collect(ctx context.Context, prof *profiler) (*Table, error) {
	var chunks []*Batch
	var schema *arrow.Schema
	err := q.run(ctx, func(b *Batch, _ device.Stream) (bool, error) {
		chunks = append(chunks, b)
		return true, nil
	}, &schema, prof)
	if err != nil {
		releaseSoon(chunks)
		return nil, err
	}
	return NewTable(q.backend, schema, chunks)
}

// releaseSoon releases batches and waits for it, but no longer than half of the
// time in which a call has to stop: handing many GB back takes the system
// longer, and the rest of it happens behind the caller.
func releaseSoon(batches []*Batch) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, b := range batches {
			b.Release()
		}
	}()
	select {
	case <-done:
	case <-time.After(50 * time.Millisecond):
	}
}

// run gives every batch to each, which takes it over and returns false to stop,
// with the stream on which it is still being made. All work is done when run
// returns.
func (q *Query) run(ctx context.Context, each func(*Batch, device.Stream) (bool, error), schema **arrow.Schema, prof *profiler) (err error) {
	if q.err == nil && q.backend == nil {
		if _, err := q.plan.resolve(ctx); err != nil {
			return err
		}
		return fmt.Errorf("%w: the query says no backend: call On", device.ErrMismatch)
	}
	if q.err != nil {
		return q.err
	}
	morsel, err := morselRows()
	if err != nil {
		return err
	}
	stream, err := q.backend.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	r := &runner{backend: q.backend, stream: stream, morsel: morsel, prof: prof}
	defer r.shared.close()
	defer r.keys.close()
	ctx = prof.begin(ctx, r)
	plan, _, err := q.resolved(ctx, func(o *optimiser, s *scalarNode) (kernels.Scalar, error) { return r.scalar(ctx, o, s) })
	if err != nil {
		return err
	}
	if schema != nil {
		*schema = plan.schema()
	}
	rows, err := r.plan(resultPlan, plan)
	if err != nil {
		return err
	}
	defer rows.Close()
	prof.collecting()
	for {
		if err := device.Canceled(ctx, q.backend.Device.Name(), "query"); err != nil {
			return err
		}
		b, err := r.next(ctx, rows)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		device.ProgressOf(ctx).Made(b.Len())
		prof.gave(b)
		if more, err := each(b, stream); err != nil || !more {
			return err
		}
	}
}

// next is the next batch of a source. A panic of the source is an error of the query.
func (r *runner) next(ctx context.Context, rows exec.Source) (b *Batch, err error) {
	defer exec.Guard(r.backend.Device.Name(), &err)
	return rows.Next(ctx)
}

// concat is the batches one after another as one, which takes them over, also
// when it fails. There must be at least one unless schema says what none is.
// A column is given back as soon as it was copied, before the next one is: two
// copies of all columns are never there, only of one.
func (r *runner) concat(ctx context.Context, schema *arrow.Schema, batches []*Batch) (*Batch, error) {
	switch len(batches) {
	case 0:
		return r.empty(ctx, schema)
	case 1:
		return batches[0], nil
	}
	rows := exec.RowsOf(batches)
	parts := make([][]*memory.Column, schema.NumFields())
	for i := range parts {
		for _, b := range batches {
			parts[i] = append(parts[i], b.Columns()[i].Retain())
		}
	}
	exec.ReleaseAll(batches)
	defer func() {
		for _, p := range parts {
			releaseColumns(p)
		}
	}()
	var columns []*memory.Column
	for i := range parts {
		c, err := r.backend.Concat(ctx, r.stream, parts[i])
		if err != nil {
			releaseColumns(columns)
			return nil, fmt.Errorf("column %q: %w", schema.Field(i).Name, err)
		}
		releaseColumns(parts[i])
		parts[i], columns = nil, append(columns, c)
	}
	return NewBatch(schema, rows, columns)
}

// empty is a batch without rows.
func (r *runner) empty(ctx context.Context, schema *arrow.Schema) (*Batch, error) {
	var columns []*memory.Column
	for _, f := range schema.Fields() {
		c, err := r.backend.FromScalars(ctx, r.stream, f.Type, nil)
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, c)
	}
	return NewBatch(schema, 0, columns)
}

// drain is all that a source gives, and closes nothing.
func drain(ctx context.Context, rows exec.Source) ([]*Batch, error) {
	var all []*Batch
	for {
		b, err := rows.Next(ctx)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			exec.ReleaseAll(all)
			return nil, err
		}
		all = append(all, b)
	}
}

// take gathers rows of columns.
func (r *runner) take(ctx context.Context, columns []*memory.Column, rows *memory.Column) ([]*memory.Column, error) {
	return r.backend.TakeColumns(ctx, r.stream, columns, rows)
}

// takeBatch gathers rows of a batch.
func (r *runner) takeBatch(ctx context.Context, b *Batch, rows *memory.Column) (*Batch, error) {
	columns, err := r.take(ctx, b.Columns(), rows)
	if err != nil {
		return nil, err
	}
	return NewBatch(b.Schema(), rows.Len(), columns)
}

// pick are columns of a batch by name, without references.
func pick(b *Batch, list []string) []*memory.Column {
	out := make([]*memory.Column, len(list))
	for i, n := range list {
		out[i] = b.ColumnNamed(n)
	}
	return out
}

// project is a batch cut to the columns of a schema, by name.
func project(b *Batch, schema *arrow.Schema) (*Batch, error) {
	if b.Schema() == schema {
		return b.Retain(), nil
	}
	columns := pick(b, fieldNames(schema))
	for _, c := range columns {
		c.Retain()
	}
	return NewBatch(schema, b.Len(), columns)
}

// morselVariable sets the rows of a morsel. All limits of queries that are numbers of
// rows keep their ratio to it, so that tests of small tables go every way.
const morselVariable = "VOLLEY_MORSEL_ROWS"

// morselRows is the number of rows of a morsel.
func morselRows() (int64, error) {
	text := os.Getenv(morselVariable)
	if text == "" {
		return exec.MorselRows, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > exec.MorselRows {
		return 0, fmt.Errorf("%w: %s=%q is no number from 1 to %d", device.ErrMismatch, morselVariable, text, exec.MorselRows)
	}
	return n, nil
}

// limit is a number of rows for morsels of exec.MorselRows, for those that there are.
func (r *runner) limit(rows int64) int64 {
	if r.morsel == 0 {
		return rows
	}
	return max(1, rows/exec.MorselRows*r.morsel+rows%exec.MorselRows*r.morsel/exec.MorselRows)
}
