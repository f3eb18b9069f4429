package table

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// groupOp aggregates. One batch is aggregated as it stands. Of more, each is
// aggregated by itself as it comes, and what comes of these partial aggregates
// is merged; where an aggregate cannot be made of parts, the columns that are
// needed are put together first.
type groupOp struct {
	r     *runner
	in    operator
	node  *groupNode
	bound *expr.Bound // keys, then the values of each aggregation
	done  bool

	values []int // of each aggregation: its result of bound, or -1
	parts  []part
	split  bool // every aggregate can be made of parts
}

func (o *groupOp) close() { o.in.close() }

func (o *groupOp) next(ctx context.Context) (*Batch, error) {
	if o.done {
		return nil, io.EOF
	}
	o.done = true
	first, err := o.in.next(ctx)
	if err == io.EOF {
		if len(o.node.keys) > 0 {
			return nil, io.EOF
		}
		first, err = o.r.empty(o.node.in.schema())
	}
	if err != nil {
		return nil, err
	}
	second, err := o.in.next(ctx)
	var out *Batch
	switch {
	case err == io.EOF:
		out, err = o.whole(ctx, first)
		first.Release()
	case err != nil:
		first.Release()
		return nil, err
	case o.split:
		out, err = o.partwise(ctx, first, second)
	default:
		out, err = o.together(ctx, first, second)
	}
	if err != nil {
		return nil, wrapError("group by", err)
	}
	if out.rows == 0 {
		out.Release()
		return nil, io.EOF
	}
	return out, nil
}

// whole aggregates one batch.
func (o *groupOp) whole(ctx context.Context, b *Batch) (*Batch, error) {
	columns, err := o.bound.EvalAll(ctx, o.r.backend, o.r.stream, b.rows, b.columns)
	if err != nil {
		return nil, err
	}
	defer releaseColumns(columns)
	keys := columns[:len(o.node.keys)]
	aggs := make([]kernels.Aggregate, len(o.node.aggs))
	for i, a := range o.node.aggs {
		aggs[i] = kernels.Aggregate{Op: a.op, Options: a.options}
		if v := o.values[i]; v >= 0 {
			aggs[i].Values = columns[v]
		}
	}
	return o.r.groupBy(ctx, o.node.out, b.rows, keys, aggs, o.node.options)
}

// together aggregates all batches after putting the columns in one.
func (o *groupOp) together(ctx context.Context, batches ...*Batch) (*Batch, error) {
	rest, err := drain(ctx, o.in)
	if err != nil {
		for _, b := range batches {
			b.Release()
		}
		return nil, err
	}
	all, err := o.r.concat(ctx, o.node.in.schema(), append(batches, rest...))
	if err != nil {
		return nil, err
	}
	defer all.Release()
	return o.whole(ctx, all)
}

// groupBy is one row for each group of keys, or one in all without keys: the
// keys, and then the aggregates.
func (r *runner) groupBy(ctx context.Context, schema *arrow.Schema, rows int64, keys []*memory.Column, aggs []kernels.Aggregate, o kernels.GroupOptions) (*Batch, error) {
	if len(keys) == 0 {
		return r.reduce(ctx, schema, rows, aggs)
	}
	g, err := r.backend.GroupBy(ctx, r.stream, keys, aggs, o)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	columns, err := r.take(ctx, keys, g.First)
	if err != nil {
		return nil, err
	}
	for _, v := range g.Values {
		columns = append(columns, v.Retain())
	}
	return NewBatch(schema, g.First.Len(), columns)
}

// reduce is the aggregates of all rows.
func (r *runner) reduce(ctx context.Context, schema *arrow.Schema, rows int64, aggs []kernels.Aggregate) (*Batch, error) {
	var columns []*memory.Column
	for _, a := range aggs {
		var c *memory.Column
		var err error
		if a.Op == kernels.CountAll {
			c, err = kernels.FromScalars(r.backend.Device.Memory(), arrow.PrimitiveTypes.Int64, []kernels.Scalar{kernels.Int64(rows)})
		} else {
			c, err = r.backend.Reduce(ctx, r.stream, a.Op, a.Values, a.Options)
		}
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, c)
	}
	return NewBatch(schema, 1, columns)
}
