package table

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// pieceRows is how many rows are put together before they are aggregated:
// small batches would each have most of the groups again.
const pieceRows = 1 << 20

// groupOp aggregates. Rows that fit one piece are aggregated as they stand. Of
// more, each piece is aggregated by itself as it comes, and what comes of these
// partial aggregates is merged; where an aggregate cannot be made of parts, the
// columns that are needed are put together first.
type groupOp struct {
	r     *runner
	in    operator
	node  *groupNode
	bound *expr.Bound // keys, then the values of each aggregation
	done  bool

	values []int // of each aggregation: its result of bound, or -1
	parts  []part
	ended  bool   // the input gave its last batch
	ahead  *Batch // read and not yet used
	split  bool   // every aggregate can be made of parts
}

func (o *groupOp) close() {
	o.ahead.Release()
	o.ahead = nil
	o.in.close()
}

func (o *groupOp) next(ctx context.Context) (*Batch, error) {
	if o.done {
		return nil, io.EOF
	}
	o.done = true
	first, more, err := o.piece(ctx)
	if err != nil {
		return nil, err
	}
	if first == nil {
		if len(o.node.keys) > 0 {
			return nil, io.EOF
		}
		if first, err = o.r.empty(ctx, o.node.in.schema()); err != nil {
			return nil, err
		}
	}
	var out *Batch
	switch {
	case !more:
		out, err = o.whole(ctx, first)
		first.Release()
	case o.split:
		out, err = o.partwise(ctx, first)
	default:
		out, err = o.together(ctx, first)
	}
	if err != nil {
		return nil, wrapError("group by", err)
	}
	if out.Len() == 0 {
		out.Release()
		return nil, io.EOF
	}
	return out, nil
}

// piece puts batches together until they have pieceRows, or there are no more:
// nil if there were none. more says whether there are any after it, for which
// it reads one batch ahead: a piece that is all there is needs no merging. A
// batch that is large enough by itself is not copied.
func (o *groupOp) piece(ctx context.Context) (b *Batch, more bool, err error) {
	var batches []*Batch
	for rows := int64(0); rows < pieceRows; {
		next, err := o.read(ctx)
		if err != nil {
			for _, b := range batches {
				b.Release()
			}
			return nil, false, err
		}
		if next == nil {
			break
		}
		batches, rows = append(batches, next), rows+next.Len()
	}
	if len(batches) == 0 {
		return nil, false, nil
	}
	if b, err = o.r.concat(ctx, o.node.in.schema(), batches); err != nil {
		return nil, false, err
	}
	if o.ahead, err = o.read(ctx); err != nil {
		b.Release()
		return nil, false, err
	}
	return b, o.ahead != nil, nil
}

// read is the next batch, nil after the last.
func (o *groupOp) read(ctx context.Context) (*Batch, error) {
	if b := o.ahead; b != nil {
		o.ahead = nil
		return b, nil
	}
	if o.ended {
		return nil, nil
	}
	b, err := o.in.next(ctx)
	if err == io.EOF {
		o.ended = true
		return nil, nil
	}
	return b, err
}

// whole aggregates one batch.
func (o *groupOp) whole(ctx context.Context, b *Batch) (*Batch, error) {
	columns, err := o.bound.EvalAll(ctx, o.r.backend, o.r.stream, b.Len(), b.Columns())
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
	out, err := o.r.groupBy(ctx, o.node.out, b.Len(), keys, aggs, o.node.options)
	return out, o.named(err, func(at int) Aggregate { return o.node.aggs[at] })
}

// together aggregates all batches after putting the columns in one.
func (o *groupOp) together(ctx context.Context, batches ...*Batch) (*Batch, error) {
	if o.ahead != nil {
		batches = append(batches, o.ahead)
		o.ahead = nil
	}
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
	o.Keys = true
	g, err := r.backend.GroupBy(ctx, r.stream, keys, aggs, o)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	var columns []*memory.Column
	if g.First == nil {
		for _, k := range g.Keys {
			columns = append(columns, k.Retain())
		}
	} else if columns, err = r.take(ctx, keys, g.First); err != nil {
		return nil, err
	}
	for _, v := range g.Values {
		columns = append(columns, v.Retain())
	}
	return NewBatch(schema, g.Len(), columns)
}

// reduce is the aggregates of all rows.
func (r *runner) reduce(ctx context.Context, schema *arrow.Schema, rows int64, aggs []kernels.Aggregate) (*Batch, error) {
	columns := make([]*memory.Column, 0, len(aggs))
	greatest := map[int]*memory.Column{} // made beside the least
	defer func() {
		for _, c := range greatest {
			c.Release()
		}
	}()
	for i, a := range aggs {
		var c *memory.Column
		var err error
		if twin := twinOf(aggs, i); greatest[i] != nil {
			c = greatest[i]
			delete(greatest, i)
		} else if twin > 0 && greatest[twin] == nil {
			c, greatest[twin], err = r.backend.MinMax(ctx, r.stream, a.Values, a.Options)
		} else if a.Op == kernels.CountAll {
			c, err = r.backend.FromScalars(ctx, r.stream, arrow.PrimitiveTypes.Int64, []kernels.Scalar{kernels.Int64(rows)})
		} else {
			c, err = r.backend.Reduce(ctx, r.stream, a.Op, a.Values, a.Options)
		}
		if over := overflowOf(err); over != nil {
			over.At = i
		}
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, c)
	}
	return NewBatch(schema, 1, columns)
}

// twinOf is the first aggregation after the i-th that is the Max to its Min, and
// so comes of the same pass; 0 for none.
func twinOf(aggs []kernels.Aggregate, i int) int {
	if aggs[i].Op != kernels.Min {
		return 0
	}
	for k := i + 1; k < len(aggs); k++ {
		if b := aggs[k]; b.Op == kernels.Max && b.Values == aggs[i].Values && b.Options == aggs[i].Options {
			return k
		}
	}
	return 0
}
