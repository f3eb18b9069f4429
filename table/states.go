package table

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/flow/moments"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// integerDigits is how many digits the decimals have whose sums are those of integers of 64 bits.
const integerDigits = 20

// onHost reports whether partial aggregates lie in host memory.
func (o *grouping) onHost() bool {
	return o.r.backend != nil && o.r.onHost()
}

// hasMoments reports whether variances of values of a type are merged from those of parts: of
// numbers, and of decimals whose sums are exact.
func hasMoments(t arrow.DataType) bool {
	if d, ok := t.(*arrow.Decimal128Type); ok {
		return d.Precision <= sumDigits
	}
	return (kernels.NumberTypes | kernels.NullTypes).Has(t.ID())
}

// momentsOf finds the parts of a variance: the count and the sum of the values, exact where float64 does not
// hold them all, and behind all other parts the variance.
func (o *grouping) momentsOf(i, v int) {
	t := o.bound.TypeOf(v)
	sum := part{make: kernels.Sum, merge: kernels.Sum, value: v, typ: arrow.PrimitiveTypes.Float64, agg: i}
	if d, ok := t.(*arrow.Decimal128Type); ok {
		sum.typ = &arrow.Decimal128Type{Precision: kernels.DecimalDigits, Scale: d.Scale}
	} else if kernels.FromLeast(t) {
		sum.typ = &arrow.Decimal128Type{Precision: kernels.DecimalDigits}
	}
	n := o.partOf(part{make: kernels.Count, merge: kernels.Sum, value: v, typ: arrow.PrimitiveTypes.Int64, agg: i})
	at := slices.IndexFunc(o.variances, func(p part) bool { return p.value == v })
	if at < 0 {
		at = len(o.variances)
		o.variances = append(o.variances, part{make: kernels.Var, value: v, typ: arrow.PrimitiveTypes.Float64, agg: i})
		o.totals = append(o.totals, [2]int{n, o.partOf(sum)})
	}
	o.places = append(o.places, [2]int{at, n})
}

// exactly reports whether a part is the exact sum of integers, as a decimal.
func (o *grouping) exactly(p part) bool {
	return p.make == kernels.Sum && p.typ.ID() == arrow.DECIMAL128 && kernels.IntegerTypes.Has(o.bound.TypeOf(p.value).ID())
}

// exact is integers, or sums of them, as decimals that hold all of 64 bits.
func (o *grouping) exact(ctx context.Context, c *memory.Column) (*memory.Column, error) {
	return o.r.backend.Cast(ctx, o.r.stream, c, &arrow.Decimal128Type{Precision: integerDigits}, kernels.CastOptions{})
}

// parted is a row for each group of keys: the keys, and then the parts that are made of values. Where sums of integers
// fit 64 bits, they are made decimals afterwards; else the values are.
func (o *grouping) parted(ctx context.Context, schema *arrow.Schema, rows int64, keys, values []*memory.Column) (*Batch, error) {
	if !slices.ContainsFunc(o.parts, o.exactly) {
		return o.partedAs(ctx, schema, rows, keys, values, true)
	}
	p, err := o.partedAs(ctx, schema, rows, keys, values, false)
	if overflowOf(err) != nil {
		return o.partedAs(ctx, schema, rows, keys, values, true)
	}
	return p, err
}

func (o *grouping) partedAs(ctx context.Context, schema *arrow.Schema, rows int64, keys, values []*memory.Column, exact bool) (*Batch, error) {
	aggs, made, err := o.partialAggs(ctx, values, exact)
	defer releaseColumns(made)
	if err != nil {
		return nil, err
	}
	if exact {
		return o.groupBy(ctx, schema, rows, keys, aggs)
	}
	fields := schema.Fields()
	for i, p := range o.parts {
		if o.exactly(p) {
			at := &fields[len(keys)+i]
			if at.Type, err = kernels.AggregateType(kernels.Sum, o.bound.TypeOf(p.value)); err != nil {
				return nil, err
			}
		}
	}
	b, err := o.groupBy(ctx, arrow.NewSchema(fields, nil), rows, keys, aggs)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	var columns []*memory.Column
	for i, c := range b.Columns() {
		if at := i - len(keys); at < 0 || !o.exactly(o.parts[at]) {
			columns = append(columns, c.Retain())
			continue
		}
		d, err := o.exact(ctx, c)
		if err == nil {
			defer d.Release()
			d, err = d.WithType(o.parts[i-len(keys)].typ)
		}
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, d)
	}
	return NewBatch(schema, b.Len(), columns)
}

// mergeVariances is merge where there are variances; aggs are the aggregates of the other parts.
func (o *grouping) mergeVariances(ctx context.Context, b *Batch, aggs []kernels.Aggregate) (*Batch, error) {
	keys := len(o.node.keys)
	var ids *memory.Column
	var merged *Batch
	var err error
	if others := arrow.NewSchema(b.Schema().Fields()[:keys+o.summed], nil); keys == 0 {
		merged, err = o.groupBy(ctx, others, b.Len(), nil, aggs)
	} else {
		merged, ids, err = o.numbered(ctx, others, b, aggs)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		merged.Release()
		ids.Release()
	}()
	var columns []*memory.Column
	for _, c := range merged.Columns() {
		columns = append(columns, c.Retain())
	}
	of := func(c []*memory.Column, at [2]int) moments.Totals {
		return moments.Totals{Counts: c[keys+at[0]], Sums: c[keys+at[1]]}
	}
	for i, at := range o.totals {
		whole := of(merged.Columns(), at)
		spread, err := moments.Variance(ctx, ids, of(b.Columns(), at), b.Columns()[keys+o.summed+i], whole)
		var c *memory.Column
		if err == nil {
			c, err = o.floats(spread, whole.Counts, 0)
		}
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, c)
	}
	return NewBatch(b.Schema(), merged.Len(), columns)
}

// numbered is groupBy of a batch's keys, with the group of each row.
func (o *grouping) numbered(ctx context.Context, schema *arrow.Schema, b *Batch, aggs []kernels.Aggregate) (_ *Batch, ids *memory.Column, err error) {
	by := o.tellers(b.Columns())
	groups, err := o.r.backend.Group(ctx, o.r.stream, by, kernels.GroupOptions{DropNullKeys: o.node.options.DropNullKeys})
	if err != nil {
		return nil, nil, o.lacking(err, len(by), o.aggregateOf)
	}
	defer groups.Release()
	columns, err := o.r.take(ctx, b.Columns()[:len(o.node.keys)], groups.First)
	for i := 0; err == nil && i < len(aggs); i++ {
		var c *memory.Column
		if c, err = o.r.backend.Aggregate(ctx, o.r.stream, aggs[i].Op, aggs[i].Values, groups.IDs, groups.N, aggs[i].Options); err == nil {
			columns = append(columns, c)
		} else if over := overflowOf(err); over != nil {
			over.At = i
		}
	}
	if err != nil {
		releaseColumns(columns)
		return nil, nil, err
	}
	merged, err := NewBatch(schema, groups.N, columns)
	if err != nil {
		return nil, nil, err
	}
	return merged, groups.IDs.Retain(), nil
}

// variance is Var or Std of the variance with ddof 0.
func (o *grouping) variance(a Aggregate, spread, counts *memory.Column) (*memory.Column, error) {
	ddof := int64(a.options.Ddof)
	out := slices.Clone(memory.Values[float64](spread))
	for i, n := range memory.Values[int64](counts) {
		if ddof > 0 && n > ddof {
			out[i] = out[i] * float64(n) / float64(n-ddof)
		}
		if a.op == kernels.Std {
			out[i] = math.Sqrt(out[i])
		}
	}
	return o.floats(out, counts, ddof)
}

// floats is a column of values, null where a count is not above a number.
func (o *grouping) floats(values []float64, counts *memory.Column, above int64) (*memory.Column, error) {
	n, alloc := memory.Values[int64](counts), o.r.backend.Device.Memory()
	parts := memory.Parts{Type: arrow.PrimitiveTypes.Float64, Len: counts.Len(), Buffers: make([]*memory.Buffer, 2), Place: alloc.Place()}
	for _, v := range n {
		if v <= above {
			parts.Nulls++
		}
	}
	data, err := memory.NewZeroed(alloc, 8*parts.Len)
	if err != nil {
		return nil, err
	}
	parts.Buffers[1] = data
	if parts.Nulls > 0 {
		if parts.Buffers[0], err = memory.NewZeroed(alloc, memory.BitmapBytes(parts.Len)); err != nil {
			data.Release()
			return nil, err
		}
	}
	for i, v := range n {
		if v <= above {
			continue
		}
		memory.View[float64](data)[i] = values[i]
		if parts.Nulls > 0 {
			memory.Bitmap(parts.Buffers[0].Bytes()).Set(int64(i))
		}
	}
	return memory.NewColumn(parts)
}

// distinctOf is the number of a column whose distinct values are counted.
func (o *grouping) distinctOf(i, v int) int {
	at := slices.IndexFunc(o.distinct, func(d distinctValues) bool { return d.value == v })
	if at < 0 {
		at = len(o.distinct)
		o.distinct = append(o.distinct, distinctValues{grouping: o, value: v, agg: i})
	}
	return at
}

// planDistinct names the columns of rows whose distinct values are counted.
func (o *grouping) planDistinct() {
	keys := o.rows.Fields()[:len(o.node.keys)]
	count := arrow.Field{Name: "count", Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	for i := range o.distinct {
		d := &o.distinct[i]
		value := arrow.Field{Name: "value", Type: o.bound.TypeOf(d.value), Nullable: true}
		d.rows = arrow.NewSchema(append(slices.Clone(keys), value), nil)
		d.counts = arrow.NewSchema(append(slices.Clone(keys), count), nil)
	}
}

// distinctValues counts the distinct values of a column in each group. Beside the partial aggregates it holds keys
// and values of a million rows and of those before, without what came twice where that leaves fewer than half. The first row of a group
// stays, so that groups come in the order of partial aggregates.
type distinctValues struct {
	*grouping
	value  int           // result of bound
	agg    int           // the first aggregation that it is of
	rows   *arrow.Schema // keys and values
	counts *arrow.Schema // keys and how many values
}

// state holds no rows.
func (d *distinctValues) state() *compacted {
	return &compacted{r: d.r, schema: d.rows, shrink: d.shrink, keys: d.compared, patient: true}
}

// compared are the columns of d.rows that tell rows apart.
func (d *distinctValues) compared(columns []*memory.Column) []*memory.Column {
	return append(d.tellers(columns), columns[len(d.node.keys)])
}

// ofRows are those of the columns of grouping.rows.
func (d *distinctValues) ofRows(columns []*memory.Column) []*memory.Column {
	return append(d.tellers(columns), columns[d.value])
}

// of is the keys and values of a morsel's columns, or of rows that were put together.
func (d *distinctValues) of(rows int64, columns []*memory.Column) (*Batch, error) {
	var own []*memory.Column
	for _, c := range append(slices.Clone(columns[:len(d.node.keys)]), columns[d.value]) {
		own = append(own, c.Retain())
	}
	return NewBatch(d.rows, rows, own)
}

// shrink keeps the first of equal rows.
func (d *distinctValues) shrink(ctx context.Context, b *Batch) (*Batch, error) {
	by := d.compared(b.Columns())
	g, err := d.r.backend.GroupBy(ctx, d.r.stream, by, nil, kernels.GroupOptions{Keys: len(by) == b.NumColumns()})
	if err != nil {
		return nil, err
	}
	defer g.Release()
	switch {
	case g.Len() == b.Len():
		return b.Retain(), nil
	case g.First != nil:
		return d.r.takeBatch(ctx, b, g.First)
	}
	var columns []*memory.Column
	for _, c := range g.Keys {
		columns = append(columns, c.Retain())
	}
	return NewBatch(b.Schema(), g.Len(), columns)
}

// count is how many values each group has, of all rows.
func (d *distinctValues) count(ctx context.Context, held []*Batch) (*memory.Column, error) {
	all, err := d.r.concat(ctx, d.rows, held)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	keys := len(d.node.keys)
	aggs := []kernels.Aggregate{{Op: kernels.CountDistinct, Values: all.Columns()[keys]}}
	out, err := d.groupBy(ctx, d.counts, all.Len(), all.Columns()[:keys], aggs)
	if err != nil {
		return nil, err
	}
	defer out.Release()
	return out.Columns()[keys].Retain(), nil
}

// addDistinct takes over what of gave of rows that partial aggregates were made of.
func (s *groupState) addDistinct(ctx context.Context, rows []*Batch) error {
	for i, b := range rows {
		if err := s.distinct[i].add(ctx, b); err != nil {
			exec.ReleaseAll(rows[i+1:])
			return err
		}
	}
	return nil
}

// distinctRows is what of gives for each column.
func (o *grouping) distinctRows(rows int64, columns []*memory.Column) (all []*Batch, err error) {
	for i := range o.distinct {
		b, err := o.distinct[i].of(rows, columns)
		if err != nil {
			exec.ReleaseAll(all)
			return nil, err
		}
		all = append(all, b)
	}
	return all, nil
}

// finals makes the result of partial aggregates, which it takes over, and of the values beside them.
func (s *groupState) finals(ctx context.Context, all []*Batch) ([]*Batch, error) {
	var counts []*memory.Column
	defer func() { releaseColumns(counts) }()
	for i, d := range s.distinct {
		held := d.held
		d.held = nil
		c, err := s.grouping.distinct[i].count(ctx, held)
		if err == nil && c.Len() != exec.RowsOf(all) {
			c.Release()
			err = fmt.Errorf("%d groups have values to be counted, and %d others", c.Len(), exec.RowsOf(all))
		}
		if err != nil {
			exec.ReleaseAll(all)
			return nil, err
		}
		counts = append(counts, c)
	}
	at := int64(0)
	return each(ctx, all, func(ctx context.Context, b *Batch) (*Batch, error) {
		var part []*memory.Column
		defer func() { releaseColumns(part) }()
		for _, c := range counts {
			cut, err := c.Slice(at, b.Len())
			if err != nil {
				return nil, err
			}
			part = append(part, cut)
		}
		at += b.Len()
		return s.final(ctx, b, part)
	})
}
