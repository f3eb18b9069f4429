package table

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// pieceRows is how many rows are put together before they are aggregated, where their
// morsels were not: small batches would each have most of the groups again. Where a
// sample shows many groups, manyPieces of them are, before what they shrink to is tried.
const (
	pieceRows  = 1 << 20
	manyPieces = 8
)

// groupOp aggregates. The last step of the pipeline below it computes keys and values,
// and aggregates each morsel of few groups by itself. What comes of these partial
// aggregates is merged. Morsels of many groups come as they are: they are put together
// and aggregated at once, or piece by piece where that leaves fewer than half of the rows.
type groupOp struct {
	r     *runner
	in    operator
	node  *groupNode
	bound *expr.Bound // keys, then the values of each aggregation
	done  bool

	results int   // of bound
	values  []int // of each aggregation: its result of bound, or -1
	parts   []part
	places  [][2]int      // of each aggregation: its parts; the second of a mean is its count
	split   bool          // every aggregate can be made of parts
	rows    *arrow.Schema // keys and values
	partial *arrow.Schema // keys and parts

	raw     []*Batch // keys and values that were not yet aggregated
	rawRows int64
	most    int64      // rows of raw, from which on they are aggregated
	merged  *compactor // partial aggregates
	whole   bool       // pieces do not shrink
}

func (o *groupOp) close() {
	o.in.close()
	for _, b := range o.raw {
		b.Release()
	}
	o.raw = nil
	o.merged.release()
}

func (o *groupOp) next(ctx context.Context) (*Batch, error) {
	if o.done {
		return nil, io.EOF
	}
	o.done = true
	for {
		b, err := o.in.next(ctx)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = wrapError("group by", o.add(ctx, b))
		}
		if err != nil {
			return nil, err
		}
	}
	out, err := o.finish(ctx)
	if err != nil {
		return nil, wrapError("group by", err)
	}
	if out.Len() == 0 {
		out.Release()
		return nil, io.EOF
	}
	return out, nil
}

// add takes over what the step below made of a batch.
func (o *groupOp) add(ctx context.Context, b *Batch) error {
	if b.Schema() == o.partial {
		if err := o.shrink(ctx, true); err != nil {
			b.Release()
			return err
		}
		return o.merged.add(ctx, b)
	}
	if o.split && !o.whole && o.rawRows >= max(o.most, o.r.limit(pieceRows)) {
		if err := o.piece(ctx); err != nil {
			b.Release()
			return err
		}
	}
	o.raw, o.rawRows = append(o.raw, b), o.rawRows+b.Len()
	return nil
}

// piece aggregates the rows that were put together, unless a batch of them shows that
// there are many groups and that they are not many rows yet.
func (o *groupOp) piece(ctx context.Context) error {
	last := o.raw[len(o.raw)-1]
	if o.rawRows < o.r.limit(manyPieces*pieceRows) && last.Len() >= o.r.limit(partialSample) {
		few, err := o.r.sampleFew(ctx, last.Len(), last.Columns()[:len(o.node.keys)])
		if err != nil {
			return err
		}
		if !few {
			o.most = o.rawRows + o.r.limit(pieceRows)
			return nil
		}
	}
	o.most = 0
	return o.shrink(ctx, o.merged.any())
}

// shrink makes partial aggregates of the rows that were put together. Where there would
// be more than half as many, which be grouped again for nothing, they stay as they
// are, and so do all rows after them, unless it must.
func (o *groupOp) shrink(ctx context.Context, must bool) error {
	if len(o.raw) == 0 {
		return nil
	}
	raw := o.raw
	o.raw = nil
	all, err := o.r.concat(ctx, o.rows, raw)
	if err != nil {
		return err
	}
	p, err := o.aggregate(ctx, all.Len(), all.Columns())
	if overflowOf(err) != nil {
		p, err = o.rowwise(ctx, all)
	}
	if err == nil && !must && 2*p.Len() > all.Len() {
		p.Release()
		o.raw, o.whole = []*Batch{all}, true
		return nil
	}
	all.Release()
	if err != nil {
		return err
	}
	o.rawRows = 0
	return o.merged.add(ctx, p)
}

// finish is the result.
func (o *groupOp) finish(ctx context.Context) (*Batch, error) {
	if o.merged.any() {
		if err := o.shrink(ctx, true); err != nil {
			return nil, err
		}
		all, err := o.merged.finish(ctx)
		if err != nil {
			return nil, o.named(err, o.aggregateOf)
		}
		defer all.Release()
		return o.final(ctx, all)
	}
	raw := o.raw
	o.raw = nil
	if len(raw) == 0 && len(o.node.keys) > 0 {
		return o.r.empty(ctx, o.node.out)
	}
	all, err := o.r.concat(ctx, o.rows, raw)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	return o.atOnce(ctx, all)
}

// atOnce aggregates all rows.
func (o *groupOp) atOnce(ctx context.Context, b *Batch) (*Batch, error) {
	aggs := make([]kernels.Aggregate, len(o.node.aggs))
	for i, a := range o.node.aggs {
		aggs[i] = kernels.Aggregate{Op: a.op, Options: a.options}
		if v := o.values[i]; v >= 0 {
			aggs[i].Values = b.Columns()[v]
		}
	}
	out, err := o.r.groupBy(ctx, o.node.out, b.Len(), b.Columns()[:len(o.node.keys)], aggs, o.node.options)
	return out, o.named(err, func(at int) Aggregate { return o.node.aggs[at] })
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
