package table

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

const (
	// partialLeast and partialMost are how many rows a morsel has that is aggregated by
	// itself. Kernels go over more on all processors, in larger pieces.
	partialLeast = 1 << 13
	partialMost  = 4 * exec.MorselRows
	// partialShare is how many times a morsel's groups its rows must be at least.
	partialShare = 2
	// sumDigits is the most digits of decimals whose exact sum stands for their mean: so
	// many fewer than 38 that no table has rows enough to exceed it.
	sumDigits = 24
)

// part is one column of partial aggregates: how it is made of values, and how
// several of it are merged.
type part struct {
	make, merge kernels.Aggregation
	value       int // result of the batch's expressions, or -1
	typ         arrow.DataType
	agg         int // the first aggregation that it is of
}

// plan finds how all aggregations are made of parts, if they can be.
//
// Mean is the sum over the count: the exact sum of decimals, that of others as float64.
// Sums of floats are those of morsels, or pieces, added in order: they do not depend
// on the number of workers.
func (o *grouping) plan() error {
	o.split = true
	for i, a := range o.node.aggs {
		o.split = o.split && o.splits(i, a)
	}
	o.rows = o.schemaOf(o.results, nil)
	if o.split {
		for i, a := range o.node.aggs {
			if err := o.partsOf(i, a); err != nil {
				return err
			}
		}
		o.summed = len(o.parts)
		o.parts = append(o.parts, o.variances...)
		o.partial = o.schemaOf(len(o.node.keys), o.parts)
		o.planDistinct()
	}
	return nil
}

// schemaOf names the first results of bound, and parts.
func (o *grouping) schemaOf(results int, parts []part) *arrow.Schema {
	var fields []arrow.Field
	for i := range results {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("value %d", i), Type: o.bound.TypeOf(i), Nullable: true})
	}
	for i, p := range parts {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("part %d", i), Type: p.typ, Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

// splits reports whether an aggregation can be made of those of parts.
func (o *grouping) splits(i int, a Aggregate) bool {
	options := a.options
	switch a.op {
	case kernels.CountDistinct:
		return o.onHost() && options == (kernels.AggregateOptions{})
	case kernels.Var, kernels.Std:
		options.Ddof = 0
		return o.onHost() && options == (kernels.AggregateOptions{}) && hasMoments(o.bound.TypeOf(o.values[i]))
	}
	return splits[a.op] && options == (kernels.AggregateOptions{})
}

// splits are the aggregations that kernels make of those of parts.
var splits = map[kernels.Aggregation]bool{
	kernels.Sum: true, kernels.SumWrapping: true, kernels.Product: true, kernels.Min: true, kernels.Max: true, kernels.Count: true,
	kernels.CountAll: true, kernels.Mean: true, kernels.Any: true, kernels.All: true, kernels.First: true, kernels.Last: true,
}

// partsOf finds the parts of an aggregation; those of a mean are two, those of a variance three.
func (o *grouping) partsOf(i int, a Aggregate) error {
	v := o.values[i]
	switch a.op {
	case kernels.Mean:
		sum := part{make: kernels.Sum, merge: kernels.Sum, value: v, typ: arrow.PrimitiveTypes.Float64, agg: i}
		if d, ok := o.bound.TypeOf(v).(*arrow.Decimal128Type); ok && d.Precision <= sumDigits {
			t, err := kernels.AggregateType(kernels.Sum, d)
			if err != nil {
				return err
			}
			sum.typ = t
		}
		o.places = append(o.places, [2]int{
			o.partOf(sum),
			o.partOf(part{make: kernels.Count, merge: kernels.Sum, value: v, typ: arrow.PrimitiveTypes.Int64, agg: i}),
		})
		return nil
	case kernels.Var, kernels.Std:
		o.momentsOf(i, v)
		return nil
	case kernels.CountDistinct:
		o.places = append(o.places, [2]int{o.distinctOf(i, v)})
		return nil
	case kernels.Count, kernels.CountAll:
		o.places = append(o.places, [2]int{o.partOf(part{make: a.op, merge: kernels.Sum, value: v, typ: arrow.PrimitiveTypes.Int64, agg: i})})
		return nil
	}
	var arg arrow.DataType
	if v >= 0 {
		arg = o.bound.TypeOf(v)
	}
	t, err := kernels.AggregateType(a.op, arg)
	if err != nil {
		return err
	}
	o.places = append(o.places, [2]int{o.partOf(part{make: a.op, merge: a.op, value: v, typ: t, agg: i})})
	return nil
}

// partOf is the place of a part, which several aggregations may share: sum(x) and mean(x)
// are both made of the sum.
func (o *grouping) partOf(p part) int {
	for i, q := range o.parts {
		if q.make == p.make && q.value == p.value && arrow.TypeEqual(q.typ, p.typ) {
			return i
		}
	}
	o.parts = append(o.parts, p)
	return len(o.parts) - 1
}

// ofMorsel is the partial aggregates of a morsel, and beside them the values that are counted, or its keys and values.
func (o *grouping) ofMorsel(ctx context.Context, b *Batch) (p *Batch, distinct []*Batch, err error) {
	if o.masked != nil && b.Schema() == o.masked {
		return o.ofMasked(ctx, b)
	}
	columns, err := o.ready.EvalAll(ctx, b.Len(), b.Columns())
	if err != nil {
		return nil, nil, err
	}
	return o.ofValues(ctx, b.Len(), columns)
}

// ofValues is ofMorsel of keys and values, which it takes over.
func (o *grouping) ofValues(ctx context.Context, rows int64, columns []*memory.Column) (p *Batch, distinct []*Batch, err error) {
	p, err = o.early(ctx, rows, columns)
	if p == nil && err == nil {
		p, err = NewBatch(o.rows, rows, columns)
		return p, nil, err
	}
	defer releaseColumns(columns)
	if err != nil {
		return nil, nil, err
	}
	return o.beside(p, rows, columns)
}

// beside is partial aggregates, which it takes over, and the values that are counted of their rows.
func (o *grouping) beside(p *Batch, rows int64, columns []*memory.Column) (_ *Batch, distinct []*Batch, err error) {
	if distinct, err = o.distinctRows(rows, columns); err != nil {
		p.Release()
		return nil, nil, err
	}
	return p, distinct, nil
}

// early makes partial aggregates of a morsel, nil where it has not few groups, or a sum
// does not fit.
func (o *grouping) early(ctx context.Context, rows int64, columns []*memory.Column) (*Batch, error) {
	if few, err := o.fewGroups(ctx, rows, columns); err != nil || !few {
		return nil, err
	}
	p, err := o.aggregate(ctx, rows, columns)
	if overflowOf(err) != nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if p.Len()*partialShare > rows {
		p.Release()
		return nil, nil
	}
	return p, nil
}

// fewGroups guesses whether a morsel has far fewer groups than rows. On a device, small
// pieces are put together first.
func (o *grouping) fewGroups(ctx context.Context, rows int64, columns []*memory.Column) (bool, error) {
	if !o.split || !o.r.early(rows) {
		return false, nil
	}
	few, err := o.r.sampleFew(ctx, rows, o.tellers(columns))
	return few, o.lacking(err, len(o.told()), o.aggregateOf)
}

// tellers are the keys that tell groups apart, of the columns of o.rows or o.partial.
func (o *grouping) tellers(columns []*memory.Column) (by []*memory.Column) {
	for _, k := range o.told() {
		by = append(by, columns[k])
	}
	return by
}

// early reports whether a morsel of so many rows may be aggregated by itself.
func (r *runner) early(rows int64) bool {
	return r.onHost() && rows >= r.limit(partialLeast) && rows <= r.limit(partialMost)
}

// aggregate makes partial aggregates of keys and values.
func (o *grouping) aggregate(ctx context.Context, rows int64, columns []*memory.Column) (*Batch, error) {
	return o.parted(ctx, o.partial, rows, columns[:len(o.node.keys)], columns)
}

// partialAggs are the kernel's aggregates of parts, and the columns that were made for
// them; exact says that sums of integers are those of decimals where parts are.
func (o *grouping) partialAggs(ctx context.Context, columns []*memory.Column, exact bool) (aggs []kernels.Aggregate, made []*memory.Column, err error) {
	for _, p := range o.parts {
		a := kernels.Aggregate{Op: p.make}
		if p.value >= 0 {
			a.Values = columns[p.value]
		}
		switch {
		case p.make == kernels.Sum && p.typ.ID() == arrow.FLOAT64:
			a.Values, err = o.asFloat(ctx, columns[p.value])
		case exact && o.exactly(p):
			a.Values, err = o.exact(ctx, columns[p.value])
		default:
			aggs = append(aggs, a)
			continue
		}
		if err != nil {
			return nil, made, err
		}
		made = append(made, a.Values)
		aggs = append(aggs, a)
	}
	return aggs, made, nil
}

// asFloat is a column as float64; a bool is 0 or 1.
func (o *grouping) asFloat(ctx context.Context, c *memory.Column) (*memory.Column, error) {
	if c.Type().ID() == arrow.FLOAT64 {
		return c.Retain(), nil
	}
	if c.Type().ID() == arrow.BOOL {
		return o.r.backend.IfElse(ctx, o.r.stream, c, kernels.Float64(1), kernels.Float64(0))
	}
	return o.r.backend.Cast(ctx, o.r.stream, c, arrow.PrimitiveTypes.Float64, kernels.CastOptions{Wrap: true})
}

// merge merges partial aggregates of one group to one.
func (o *grouping) merge(ctx context.Context, b *Batch) (*Batch, error) {
	keys := len(o.node.keys)
	aggs := make([]kernels.Aggregate, o.summed)
	for i, p := range o.parts[:o.summed] {
		aggs[i] = kernels.Aggregate{Op: p.merge, Values: b.Columns()[keys+i]}
	}
	if len(o.variances) > 0 {
		return o.mergeVariances(ctx, b, aggs)
	}
	return o.groupBy(ctx, b.Schema(), b.Len(), b.Columns()[:keys], aggs)
}

// final makes the aggregates of the merged parts, and of the counts of distinct values.
func (o *grouping) final(ctx context.Context, b *Batch, distinct []*memory.Column) (*Batch, error) {
	var columns []*memory.Column
	keys := len(o.node.keys)
	for _, c := range b.Columns()[:keys] {
		columns = append(columns, c.Retain())
	}
	for i, a := range o.node.aggs {
		c, err := o.finalOf(ctx, a, o.places[i], b.Columns()[keys:], distinct)
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, c)
	}
	return NewBatch(o.node.out, b.Len(), columns)
}

// finalOf is an aggregate of parts at its places.
func (o *grouping) finalOf(ctx context.Context, a Aggregate, at [2]int, parts, distinct []*memory.Column) (*memory.Column, error) {
	switch a.op {
	case kernels.Mean:
		return o.mean(ctx, parts[at[0]], parts[at[1]])
	case kernels.Var, kernels.Std:
		return o.variance(a, parts[o.summed+at[0]], parts[at[1]])
	case kernels.CountDistinct:
		return distinct[at[0]].Retain(), nil
	}
	return parts[at[0]].Retain(), nil
}

// mean is sum over count; the sum of no value is null.
func (o *grouping) mean(ctx context.Context, sum, count *memory.Column) (*memory.Column, error) {
	s, err := o.asFloat(ctx, sum)
	if err != nil {
		return nil, err
	}
	defer s.Release()
	if o.onHost() {
		means := slices.Clone(memory.Values[float64](s))
		for i, n := range memory.Values[int64](count) {
			means[i] /= float64(n)
		}
		return o.floats(means, count, 0)
	}
	n, err := o.asFloat(ctx, count)
	if err != nil {
		return nil, err
	}
	defer n.Release()
	return o.r.backend.Arithmetic(ctx, o.r.stream, kernels.Divide, s, n, kernels.ArithmeticOptions{})
}

// maskedShare is the share of the rows of a morsel from which on they are not copied without the
// others, but aggregated with them: the mask is one more key then, and groups of rows that it
// does not have are dropped.
const maskedShare = 0.75

// maskedGuess is the share of rows that a filter is thought to keep from which on its masks are
// given to groups.
const maskedGuess = 0.5

// mask marks the filters just below groups that are thought to keep most rows.
func (o *optimiser) mask(n node) node {
	if o.off[ruleMask] {
		return n
	}
	n = replaceTied(n, o.mask)
	g, ok := n.(*groupNode)
	if !ok || len(g.keys) == 0 {
		return n
	}
	in, _, _, projections := g.merged(g.exprs())
	if partialShare*o.guess.rows(g) > o.guess.morsel { // morsels would not shrink, and be copied
		return n
	}
	f, ok := in.(*filterNode)
	if !ok || len(f.keys) > 0 || o.guess.share(f.in, f.predicate) < maskedGuess {
		return n
	}
	marked := *f
	marked.mask = true
	in = &marked
	for i := len(projections) - 1; i >= 0; i-- {
		in = projections[i].withInputs([]node{in})
	}
	return g.withInputs([]node{in})
}

// masks has a filter just below give a mask beside morsels of which it keeps most rows.
func (o *grouping) masks(in node) node {
	f, ok := in.(*filterNode)
	if !ok || !f.mask || !o.split || o.r.backend == nil || !o.r.onHost() {
		return in
	}
	mask := arrow.Field{Name: "", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}
	out := *f
	out.masked = arrow.NewSchema(append(slices.Clone(f.out.Fields()), mask), nil)
	o.masked = out.masked
	keys := o.partial.Fields()[:len(o.node.keys)]
	o.maskedPartial = arrow.NewSchema(append(append(slices.Clone(keys), mask), o.partial.Fields()[len(keys):]...), nil)
	o.r.prof.same(&out, f)
	return &out
}

// masked is the rows of a morsel with their mask where it has most of them, else those
// that it has.
func (r *runner) masked(ctx context.Context, b *Batch, cond *conditions, n *filterNode) (*Batch, error) {
	mask, err := cond.mask(ctx, r, b)
	if err != nil {
		return nil, err
	}
	if kept := countTrue(mask); kept == b.Len() || float64(kept) < maskedShare*float64(b.Len()) {
		defer mask.Release()
		return r.kept(ctx, b, mask, n.out)
	}
	columns := pick(b, fieldNames(n.out))
	for _, c := range columns {
		c.Retain()
	}
	return NewBatch(n.masked, b.Len(), append(columns, mask))
}

// ofMasked is what the step makes of a morsel with a mask. Where rows that the mask has not stand in
// the way, because they have no value or their sum is too large, or where there are not few
// groups, the rows are copied without them.
func (o *grouping) ofMasked(ctx context.Context, b *Batch) (p *Batch, distinct []*Batch, err error) {
	last := len(b.Columns()) - 1
	mask := b.Columns()[last]
	columns, err := o.ready.EvalAll(ctx, b.Len(), b.Columns()[:last])
	if errors.Is(err, device.ErrValue) {
		kept, err := o.kept(ctx, mask, b.Columns()[:last])
		if err != nil {
			return nil, nil, err
		}
		defer releaseColumns(kept)
		if columns, err = o.ready.EvalAll(ctx, countTrue(mask), kept); err != nil {
			return nil, nil, err
		}
		return o.ofValues(ctx, countTrue(mask), columns)
	}
	if err != nil {
		return nil, nil, err
	}
	defer releaseColumns(columns)
	p, err = o.earlyMasked(ctx, b.Len(), columns, mask)
	if err != nil || p != nil && len(o.distinct) == 0 {
		return p, nil, err
	}
	kept, err := o.kept(ctx, mask, columns)
	switch {
	case p == nil && err == nil:
		return o.ofValues(ctx, countTrue(mask), kept)
	case err != nil:
		p.Release()
		return nil, nil, err
	}
	defer releaseColumns(kept)
	return o.beside(p, countTrue(mask), kept)
}

// kept are the values of columns that a mask has.
func (o *grouping) kept(ctx context.Context, mask *memory.Column, columns []*memory.Column) (kept []*memory.Column, err error) {
	for _, c := range columns {
		k, err := o.r.backend.Filter(ctx, o.r.stream, c, mask, kernels.FilterOptions{})
		if err != nil {
			releaseColumns(kept)
			return nil, err
		}
		kept = append(kept, k)
	}
	return kept, nil
}

// earlyMasked is early of the rows that a mask has.
func (o *grouping) earlyMasked(ctx context.Context, rows int64, columns []*memory.Column, mask *memory.Column) (*Batch, error) {
	if few, err := o.fewGroups(ctx, rows, columns); err != nil || !few {
		return nil, err
	}
	keys := append(slices.Clone(columns[:len(o.node.keys)]), mask)
	p, err := o.parted(ctx, o.maskedPartial, rows, keys, columns)
	if overflowOf(err) != nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer p.Release()
	if p.Len()*partialShare > rows {
		return nil, nil
	}
	all := p.Columns()
	kept, err := o.kept(ctx, all[len(keys)-1], append(slices.Clone(all[:len(keys)-1]), all[len(keys):]...))
	if err != nil {
		return nil, err
	}
	return NewBatch(o.partial, kept[0].Len(), kept)
}
