package table

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// pieceRows is how many rows are put together before they are aggregated, where their
// morsels were not: small batches would each have most of the groups again. Where a
// sample shows more groups than one for pieceShare rows, manyPieces of them are, before
// what they shrink to is tried.
const (
	pieceRows  = 1 << 20
	pieceShare = 8
	manyPieces = 8
)

// grouping is the sink of groups. A worker computes keys and values,
// and aggregates each morsel of few groups by itself. What comes of these partial
// aggregates is merged. Morsels of many groups stay as they are: they are put together
// and aggregated at once, or piece by piece where that leaves fewer than half of the rows.
type grouping struct {
	r     *runner
	node  *groupNode
	bound *expr.Bound // keys, then the values of each aggregation
	ready *expr.Prepared

	results               int   // of bound
	values                []int // of each aggregation: its result of bound, or -1
	parts                 []part
	summed                int      // how many of parts are merged by their kernels: variances follow
	variances             []part   // the last of parts
	totals                [][2]int // of each variance: the parts that are its count and its sum
	distinct              []distinctValues
	places                [][2]int      // of each aggregation: its parts; the second of a mean or a variance is its count
	split                 bool          // every aggregate can be made of parts
	rows                  *arrow.Schema // keys and values
	partial               *arrow.Schema // keys and parts
	masked, maskedPartial *arrow.Schema // of morsels with a mask, and of keys, mask and parts; or nil

	proven sync.Once // with the first rows: what they come through is built then
	by     []int     // the keys that tell groups apart
}

// Prepare makes the expressions ready.
func (o *grouping) Prepare(ctx context.Context) (err error) {
	o.ready, err = o.bound.Prepare(ctx, o.r.backend, o.r.stream)
	return wrapError("group by", err)
}

// Make makes a groupState of no rows.
func (o *grouping) Make(context.Context) (exec.SinkState, error) {
	s := &groupState{grouping: o, merged: &compacted{r: o.r, schema: o.partial, shrink: o.merge, keys: o.tellers}}
	for i := range o.distinct {
		s.distinct = append(s.distinct, o.distinct[i].state())
	}
	return s, nil
}

// Close gives the expressions back.
func (o *grouping) Close() { o.ready.Release() }

// Finish gives one row for each group.
func (o *grouping) Finish(ctx context.Context, all exec.SinkState) (exec.Source, error) {
	s := all.(*groupState)
	defer s.Close()
	out, err := s.finish(ctx)
	if err != nil {
		return nil, wrapError("group by", err)
	}
	return exec.Batches(out...), nil
}

// groupState is the groups of some rows: partial aggregates, and behind them rows that were not
// yet aggregated.
type groupState struct {
	*grouping
	merged   *compacted   // partial aggregates
	distinct []*compacted // of the same rows: keys and values of which the distinct ones are counted
	raw      []*Batch     // keys and values
	rawRows  int64
	most     int64 // rows of raw, from which on they are aggregated
	whole    bool  // pieces do not shrink
}

// Update computes keys and values of a morsel, and its partial aggregates if there are
// few groups.
func (s *groupState) Update(ctx context.Context, b *Batch) error {
	defer b.Release()
	p, distinct, err := s.ofMorsel(ctx, b)
	if err != nil {
		return wrapError("group by", err)
	}
	if p.Schema() != s.partial {
		s.raw, s.rawRows = append(s.raw, p), s.rawRows+p.Len()
		return nil
	}
	if err = s.addPartial(ctx, p); err != nil {
		exec.ReleaseAll(distinct)
		return wrapError("group by", err)
	}
	return wrapError("group by", s.addDistinct(ctx, distinct))
}

// Merge adds what another has.
func (s *groupState) Merge(ctx context.Context, later exec.SinkState) error {
	l := later.(*groupState)
	defer l.Close()
	for len(l.merged.held) > 0 {
		b := l.merged.held[0]
		l.merged.held = l.merged.held[1:]
		if err := s.addPartial(ctx, b); err != nil {
			return wrapError("group by", err)
		}
	}
	for i, d := range l.distinct {
		for len(d.held) > 0 {
			b := d.held[0]
			d.held = d.held[1:]
			if err := s.distinct[i].add(ctx, b); err != nil {
				return wrapError("group by", err)
			}
		}
	}
	for len(l.raw) > 0 {
		b := l.raw[0]
		l.raw = l.raw[1:]
		if err := s.addRaw(ctx, b); err != nil {
			return wrapError("group by", err)
		}
	}
	return nil
}

// addPartial takes over partial aggregates, whose rows follow all others.
func (s *groupState) addPartial(ctx context.Context, b *Batch) error {
	if err := s.shrink(ctx, true); err != nil {
		b.Release()
		return err
	}
	return s.merged.add(ctx, b)
}

// addRaw takes over rows that are not aggregated.
func (s *groupState) addRaw(ctx context.Context, b *Batch) error {
	if s.split && !s.whole && s.rawRows >= max(s.most, s.r.limit(pieceRows)) {
		if err := s.piece(ctx); err != nil {
			b.Release()
			return err
		}
	}
	s.raw, s.rawRows = append(s.raw, b), s.rawRows+b.Len()
	return nil
}

// piece aggregates the rows that were put together, unless a sample shows that
// there are many groups and they are not many rows yet.
func (s *groupState) piece(ctx context.Context) error {
	for i := range s.distinct {
		few, err := s.r.repeats(ctx, s.raw, s.grouping.distinct[i].ofRows, 2)
		if err != nil {
			return s.lacking(err, len(s.told()), func(int) Aggregate { return s.node.aggs[s.grouping.distinct[i].agg] })
		}
		if !few {
			s.most = s.rawRows + max(s.r.limit(pieceRows), s.rawRows/manyPieces)
			return nil
		}
	}
	if s.rawRows < s.r.limit(manyPieces*pieceRows) {
		few, err := s.r.repeats(ctx, s.raw, s.tellers, pieceShare)
		if err != nil {
			return s.lacking(err, len(s.told()), s.aggregateOf)
		}
		if !few {
			s.most = s.rawRows + s.r.limit(pieceRows)
			return nil
		}
	}
	s.most = 0
	return s.shrink(ctx, s.merged.any())
}

// shrink makes partial aggregates of the rows that were put together. Where there would
// be more than half as many, which would be groupState again for nothing, they stay as they
// are, and so do all rows after them, unless it must.
func (s *groupState) shrink(ctx context.Context, must bool) error {
	if len(s.raw) == 0 {
		return nil
	}
	raw := s.raw
	s.raw = nil
	all, err := s.r.concat(ctx, s.grouping.rows, raw)
	if err != nil {
		return err
	}
	p, err := s.aggregate(ctx, all.Len(), all.Columns())
	if overflowOf(err) != nil {
		p, err = s.rowwise(ctx, all)
	}
	if err == nil && !must && 2*p.Len() > all.Len() {
		p.Release()
		s.raw, s.whole = []*Batch{all}, true
		return nil
	}
	if err != nil {
		all.Release()
		return err
	}
	distinct, err := s.distinctRows(all.Len(), all.Columns())
	all.Release()
	if err != nil {
		p.Release()
		return err
	}
	s.rawRows = 0
	if err := s.merged.add(ctx, p); err != nil {
		exec.ReleaseAll(distinct)
		return err
	}
	return s.addDistinct(ctx, distinct)
}

// finish is the result.
func (s *groupState) finish(ctx context.Context) ([]*Batch, error) {
	if s.merged.any() {
		if err := s.shrink(ctx, true); err != nil {
			return nil, err
		}
		all, err := s.merged.finish(ctx)
		if err != nil {
			return nil, s.named(err, s.aggregateOf)
		}
		return s.finals(ctx, all)
	}
	raw := s.raw
	s.raw = nil
	if len(raw) == 0 && len(s.node.keys) > 0 {
		return nil, nil
	}
	all, err := s.r.concat(ctx, s.grouping.rows, raw)
	if err != nil {
		return nil, err
	}
	return each(ctx, []*Batch{all}, s.atOnce)
}

// Rows is how many rows and partial aggregates are held.
func (s *groupState) Rows() int64 { return exec.RowsOf(s.held()) }

// Size is how many bytes they take.
func (s *groupState) Size() int64 { return exec.SizeOf(s.held()) }

func (s *groupState) held() []*Batch {
	all := slices.Concat(s.merged.held, s.raw)
	for _, d := range s.distinct {
		all = append(all, d.held...)
	}
	return all
}

// Write gives partial aggregates, then values that are counted and rows, which are noted as such.
func (s *groupState) Write(context.Context) ([]*Batch, error) {
	out, err := s.merged.written(nil)
	for i := 0; err == nil && i < len(s.distinct); i++ {
		var more []*Batch
		more, err = s.distinct[i].written(notes{"apart": int64(i + 1)})
		out = append(out, more...)
	}
	if err != nil {
		exec.ReleaseAll(out)
		return nil, err
	}
	n := notes{"apart": -1}
	counts := notes{"most": s.most}
	if s.whole {
		counts["whole"] = 1
	}
	rows, err := written(s.raw, n.with(counts), n)
	if err != nil {
		exec.ReleaseAll(out)
		return nil, err
	}
	return append(out, rows...), nil
}

// Read holds what Write wrote.
func (s *groupState) Read(ctx context.Context, batches []*Batch) error {
	of := func(number int64) (some []*Batch) {
		at := 0
		for at < len(batches) && notesOf(batches[at])["apart"] == number {
			at++
		}
		some, batches = batches[:at], batches[at:]
		return some
	}
	err := s.merged.Read(ctx, of(0))
	for i := 0; err == nil && i < len(s.distinct); i++ {
		err = s.distinct[i].Read(ctx, of(int64(i+1)))
	}
	raw := batches
	if err != nil {
		exec.ReleaseAll(raw)
		return err
	}
	for i, b := range raw {
		if n := notesOf(b); i == 0 {
			s.most, s.whole = n["most"], n["whole"] != 0
		}
		plain, err := withSchema(b, s.grouping.rows)
		b.Release()
		if err != nil {
			exec.ReleaseAll(raw[i+1:])
			return err
		}
		s.raw, s.rawRows = append(s.raw, plain), s.rawRows+plain.Len()
	}
	return nil
}

// Close releases what is held.
func (s *groupState) Close() {
	exec.ReleaseAll(s.raw)
	s.raw = nil
	s.merged.Close()
	for _, d := range s.distinct {
		d.Close()
	}
}

// atOnce aggregates all rows.
func (o *grouping) atOnce(ctx context.Context, b *Batch) (*Batch, error) {
	aggs := make([]kernels.Aggregate, len(o.node.aggs))
	for i, a := range o.node.aggs {
		aggs[i] = kernels.Aggregate{Op: a.op, Options: a.options}
		if v := o.values[i]; v >= 0 {
			aggs[i].Values = b.Columns()[v]
		}
	}
	out, err := o.groupBy(ctx, o.node.out, b.Len(), b.Columns()[:len(o.node.keys)], aggs)
	return out, o.named(err, func(at int) Aggregate { return o.node.aggs[at] })
}

// told are the keys that tell groups apart: all, unless it is proven that some determine others.
func (o *grouping) told() []int {
	o.proven.Do(func() { o.by = o.node.told(o.r) })
	return o.by
}

// groupBy is one row for each group of keys, or one in all without keys: the
// keys, and then the aggregates. Keys behind those of the node tell groups apart, too.
func (o *grouping) groupBy(ctx context.Context, schema *arrow.Schema, rows int64, keys []*memory.Column, aggs []kernels.Aggregate) (*Batch, error) {
	of := o.aggregateOf
	if schema == o.node.out {
		of = func(at int) Aggregate { return o.node.aggs[at] }
	}
	if len(keys) == 0 {
		out, err := o.r.reduce(ctx, schema, rows, aggs)
		return out, o.lacking(err, 0, of)
	}
	by, told := keys, o.told()
	if len(told) < len(o.node.keys) {
		by = slices.Clone(keys[len(o.node.keys):])
		for _, k := range told {
			by = append(by, keys[k])
		}
	}
	options := o.node.options
	options.Keys = len(by) == len(keys)
	if schema != o.node.out && len(o.variances)+len(o.distinct) > 0 {
		options.AnyOrder = false // what is made apart is put side by side
	}
	g, err := o.r.backend.GroupBy(ctx, o.r.stream, by, aggs, options)
	if err != nil {
		return nil, o.lacking(err, len(by), of)
	}
	defer g.Release()
	var columns []*memory.Column
	if g.First == nil {
		for _, k := range g.Keys {
			columns = append(columns, k.Retain())
		}
	} else if columns, err = o.r.take(ctx, keys, g.First); err != nil {
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
		if l := (*kernels.LackError)(nil); errors.As(err, &l) {
			l.Column = i
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
