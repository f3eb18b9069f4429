package table

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// part is one column of partial aggregates: how it is made of values, and how
// several of it are merged.
type part struct {
	make, merge kernels.Aggregation
	value       int // result of the batch's expressions, or -1
	typ         arrow.DataType
	agg         int // the aggregation that it is of
}

// plan finds what each aggregation reads, and whether all can be made of parts.
//
// Mean is the sum as float64 over the count. Sums of floats are then those of
// the batches added in order: the order of rows, not the batches' sizes, is what
// a result depends on beyond the last digits.
func (o *groupOp) plan() {
	at := len(o.node.keys)
	o.split = true
	for _, a := range o.node.aggs {
		if a.arg == nil {
			o.values = append(o.values, -1)
		} else {
			o.values = append(o.values, at)
			at++
		}
		o.split = o.split && splits[a.op] && a.options == (kernels.AggregateOptions{})
	}
}

// splits are the aggregations that can be made of those of parts.
var splits = map[kernels.Aggregation]bool{
	kernels.Sum: true, kernels.SumWrapping: true, kernels.Product: true, kernels.Min: true, kernels.Max: true, kernels.Count: true,
	kernels.CountAll: true, kernels.Mean: true, kernels.Any: true, kernels.All: true, kernels.First: true, kernels.Last: true,
}

// partials lists the columns of partial aggregates; those of Mean are two.
func (o *groupOp) partials() error {
	for i, a := range o.node.aggs {
		v := o.values[i]
		switch a.op {
		case kernels.Mean:
			o.parts = append(o.parts,
				part{make: kernels.Sum, merge: kernels.Sum, value: v, typ: arrow.PrimitiveTypes.Float64, agg: i},
				part{make: kernels.Count, merge: kernels.Sum, value: v, typ: arrow.PrimitiveTypes.Int64, agg: i})
		case kernels.Count, kernels.CountAll:
			o.parts = append(o.parts, part{make: a.op, merge: kernels.Sum, value: v, typ: arrow.PrimitiveTypes.Int64, agg: i})
		default:
			t, err := kernels.AggregateType(a.op, o.bound.TypeOf(v))
			if err != nil {
				return err
			}
			o.parts = append(o.parts, part{make: a.op, merge: a.op, value: v, typ: t, agg: i})
		}
	}
	return nil
}

// partwise aggregates piece by piece and merges. Where the first piece has more
// than half as many groups as rows, parts would be no smaller than the rows and
// be grouped again for nothing: the rows are put together then.
func (o *groupOp) partwise(ctx context.Context, b *Batch) (*Batch, error) {
	defer func() { b.Release() }()
	if err := o.partials(); err != nil {
		return nil, err
	}
	c := &compactor{r: o.r, schema: o.partSchema(), shrink: o.merge}
	defer c.release()
	for b != nil {
		p, err := o.partial(ctx, b, c.schema)
		if err != nil {
			return nil, err
		}
		if c.rows == 0 && 2*p.Len() > b.Len() {
			p.Release()
			first := b
			b = nil // it is not held beside the columns that it becomes part of
			return o.together(ctx, first)
		}
		b.Release()
		b = nil
		if err := c.add(ctx, p); err != nil {
			return nil, err
		}
		if b, _, err = o.piece(ctx); err != nil {
			return nil, err
		}
	}
	all, err := c.finish(ctx)
	if err != nil {
		return nil, o.named(err, o.aggregateOf)
	}
	defer all.Release()
	return o.final(ctx, all)
}

func (o *groupOp) partSchema() *arrow.Schema {
	var fields []arrow.Field
	for i := range o.node.keys {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("key %d", i), Type: o.bound.TypeOf(i), Nullable: true})
	}
	for i, p := range o.parts {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("part %d", i), Type: p.typ, Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

// partial aggregates one batch.
func (o *groupOp) partial(ctx context.Context, b *Batch, schema *arrow.Schema) (*Batch, error) {
	columns, err := o.bound.EvalAll(ctx, o.r.backend, o.r.stream, b.Len(), b.Columns())
	if err != nil {
		return nil, err
	}
	defer func() { releaseColumns(columns) }()
	aggs := make([]kernels.Aggregate, len(o.parts))
	for i, p := range o.parts {
		aggs[i] = kernels.Aggregate{Op: p.make}
		if p.value < 0 {
			continue
		}
		aggs[i].Values = columns[p.value]
		if p.make == kernels.Sum && p.typ.ID() == arrow.FLOAT64 {
			f, err := o.asFloat(ctx, columns[p.value])
			if err != nil {
				return nil, err
			}
			columns = append(columns, f)
			aggs[i].Values = f
		}
	}
	out, err := o.r.groupBy(ctx, schema, b.Len(), columns[:len(o.node.keys)], aggs, o.node.options)
	if overflowOf(err) != nil {
		return o.rowwise(ctx, b, schema, columns, aggs)
	}
	return out, err
}

// asFloat is a column as float64; a bool is 0 or 1.
func (o *groupOp) asFloat(ctx context.Context, c *memory.Column) (*memory.Column, error) {
	if c.Type().ID() == arrow.FLOAT64 {
		return c.Retain(), nil
	}
	if c.Type().ID() == arrow.BOOL {
		return o.r.backend.IfElse(ctx, o.r.stream, c, kernels.Float64(1), kernels.Float64(0))
	}
	return o.r.backend.Cast(ctx, o.r.stream, c, arrow.PrimitiveTypes.Float64, kernels.CastOptions{Wrap: true})
}

// merge merges partial aggregates of one group to one.
func (o *groupOp) merge(ctx context.Context, b *Batch) (*Batch, error) {
	keys := len(o.node.keys)
	aggs := make([]kernels.Aggregate, len(o.parts))
	for i, p := range o.parts {
		aggs[i] = kernels.Aggregate{Op: p.merge, Values: b.Columns()[keys+i]}
	}
	return o.r.groupBy(ctx, b.Schema(), b.Len(), b.Columns()[:keys], aggs, o.node.options)
}

// final makes the aggregates of the merged parts.
func (o *groupOp) final(ctx context.Context, b *Batch) (*Batch, error) {
	var columns []*memory.Column
	for _, c := range b.Columns()[:len(o.node.keys)] {
		columns = append(columns, c.Retain())
	}
	at := len(o.node.keys)
	for _, a := range o.node.aggs {
		if a.op != kernels.Mean {
			columns = append(columns, b.Columns()[at].Retain())
			at++
			continue
		}
		mean, err := o.mean(ctx, b.Columns()[at], b.Columns()[at+1])
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, mean)
		at += 2
	}
	return NewBatch(o.node.out, b.Len(), columns)
}

// mean is sum over count; the sum of no value is null.
func (o *groupOp) mean(ctx context.Context, sum, count *memory.Column) (*memory.Column, error) {
	n, err := o.r.backend.Cast(ctx, o.r.stream, count, arrow.PrimitiveTypes.Float64, kernels.CastOptions{Wrap: true})
	if err != nil {
		return nil, err
	}
	defer n.Release()
	return o.r.backend.Arithmetic(ctx, o.r.stream, kernels.Divide, sum, n, kernels.ArithmeticOptions{})
}
