package distributed

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// Grouping is a table with the keys of its groups: continue with Agg. It is a value: its
// methods give changed copies.
type Grouping struct {
	d        *Table
	keys     []any
	noNulls  bool
	anyOrder bool
}

// GroupBy makes groups of the rows of all ranks whose keys are equal. Keys are names of columns or
// expressions. A null is a key like others, NaNs are equal, and groups come in order of first
// appearance over all ranks, as table.Query.GroupBy gives them.
func (d *Table) GroupBy(keys ...any) *Grouping { return &Grouping{d: d, keys: keys} }

// DropNullKeys leaves out rows with a null in any key.
func (g *Grouping) DropNullKeys() *Grouping {
	next := *g
	next.noNulls = true
	return &next
}

// AnyOrder leaves groups on the ranks of their keys, in whatever order is fastest, in place of
// the order of first appearance. Many groups then move once and not twice, and the result is
// partitioned by the keys.
func (g *Grouping) AnyOrder() *Grouping {
	next := *g
	next.anyOrder = true
	return &next
}

// Agg aggregates all rows to one, which every rank has: the result is replicated.
func (d *Table) Agg(ctx context.Context, aggregates ...table.Aggregate) (*Table, error) {
	return d.GroupBy().Agg(ctx, aggregates...)
}

// groupLimits say which way groups are made; tests make them small.
var groupLimits = struct {
	few    int64   // partial groups of all ranks together that every rank merges by itself
	giveUp float64 // groups a row, above which parts are given up
	sample int64   // rows of each rank that this is found from, or an eighth of them
}{1 << 14, 0.8, 1 << 16}

// Agg gives a row for each group: the keys and then the aggregates. Without keys there is one
// row, which every rank has.
//
// Counts, sums, products, least and greatest, means, variances, first and last values are
// made on every rank first, and parts of one group are merged after they moved; few
// groups are merged on every rank. Where parts would be no fewer than rows, and for other aggregates
// and options, the rows move by the hash of the keys. A table that is spread by the keys
// already is aggregated where it is.
//
// Counts, integers and decimals, and means of integers, are the same bits for any number of
// ranks; floats are added rank by rank.
func (g *Grouping) Agg(ctx context.Context, aggregates ...table.Aggregate) (*Table, error) {
	p := &groupPlan{options: *g}
	o := g.d.start(ctx, "GroupBy", p.read(g.keys, aggregates))
	o.do(func() error { return p.check(ctx, g.d.part) })
	if o.meet() != nil {
		return nil, o.ended
	}
	if g.d.by.Scheme == Replicated {
		whole := o.table(func() (*table.Table, error) { return p.local(g.d.part.Query()).Collect(ctx) })
		defer whole.Release()
		return o.finish(whole, Partitioning{Scheme: Replicated})
	}
	if o.comm.Size() == 1 {
		return o.finishLocal(p, g.d)
	}
	r := &groupRun{op: o, plan: p, d: g.d}
	if len(p.keys) == 0 {
		return r.scalars()
	}
	return r.groups()
}

// finishLocal is the aggregation of one rank, who has all rows.
func (o *op) finishLocal(p *groupPlan, d *Table) (*Table, error) {
	whole := o.table(func() (*table.Table, error) { return p.local(d.part.Query()).Collect(o.ctx) })
	defer whole.Release()
	by := Partitioning{}
	if len(p.keys) == 0 {
		by.Scheme = Replicated
	}
	return o.finish(whole, by)
}

// groupRun is an Agg under way.
type groupRun struct {
	*op
	plan *groupPlan
	d    *Table
}

// narrow is the keys and values of this rank's rows, or a function of them.
func (r *groupRun) narrow(f func(*table.Query) *table.Query) *table.Table {
	return r.table(func() (*table.Table, error) { return f(r.plan.narrow(r.d.part.Query())).Collect(r.ctx) })
}

// groups aggregates by keys.
func (r *groupRun) groups() (*Table, error) {
	if r.d.by.Together(r.plan.columns()...) {
		return r.together(r.d.by.first())
	}
	parts, ended := r.parts()
	if ended != nil {
		return nil, ended
	}
	if parts == nil {
		return r.rows()
	}
	if sum(parts.counts) <= groupLimits.few {
		defer parts.Release()
		return r.few(parts)
	}
	return r.merged(parts)
}

// parts is the partial groups of every rank: nil where they are given up.
func (r *groupRun) parts() (*Table, error) {
	if !r.plan.splits() {
		return nil, nil
	}
	var rows, groups, over int64
	r.do(func() (err error) {
		rows, groups, err = r.plan.sample(r.ctx, r.d.part)
		return err
	})
	said := r.words([]int64{rows, groups})
	if said == nil {
		return nil, r.ended
	}
	rows, groups = 0, 0
	for _, row := range said {
		rows, groups = rows+row[0], groups+row[1]
	}
	if float64(groups) > groupLimits.giveUp*float64(rows) && groups > groupLimits.few {
		return nil, nil
	}
	made := r.narrow(func(q *table.Query) *table.Query {
		return r.plan.partial(q)
	})
	defer func() { made.Release() }()
	var overflow *kernels.OverflowError
	if errors.As(r.err, &overflow) { // with the rows of other ranks it may fit
		r.err, over = nil, 1
	}
	for _, row := range r.words([]int64{over}) {
		over = max(over, row[0])
	}
	if r.ended != nil || over > 0 {
		return nil, r.ended
	}
	parts, err := r.finish(made, Partitioning{})
	return parts, err
}

// few gives every rank all parts. Each merges them, and keeps its share of the groups.
func (r *groupRun) few(parts *Table) (*Table, error) {
	all := r.everywhere(parts.Schema(), parts.part.Retain())
	defer all.Release()
	mine := r.table(func() (*table.Table, error) {
		whole, err := r.plan.merged(all.Query(), false).Collect(r.ctx)
		if err != nil {
			return nil, r.plan.explain(err)
		}
		defer whole.Release()
		rank, size, n := int64(r.comm.Rank()), int64(r.comm.Size()), whole.NumRows()
		return sliced(whole, n*rank/size, n*(rank+1)/size)
	})
	defer mine.Release()
	return r.finish(mine, Partitioning{})
}

// merged moves parts of one group, which it takes over, to one rank.
func (r *groupRun) merged(parts *Table) (*Table, error) {
	return r.spread(parts, func(q *table.Query) *table.Query { return r.plan.merged(q, !r.plan.options.anyOrder) })
}

// rows moves the rows of one group to one rank.
func (r *groupRun) rows() (*Table, error) {
	narrow := r.narrow(r.plan.once)
	made, err := r.finish(narrow, Partitioning{})
	narrow.Release()
	if err != nil {
		return nil, err
	}
	return r.spread(made, func(q *table.Query) *table.Query { return r.plan.whole(q, !r.plan.options.anyOrder) })
}

// spread moves the rows of a table, which it takes over, by the hash of the keys, and groups them as f says.
func (r *groupRun) spread(t *Table, f func(*table.Query) *table.Query) (*Table, error) {
	part := t.part.Retain()
	if !r.plan.options.anyOrder {
		numbered := r.table(func() (*table.Table, error) { return part.WithRowNumber(r.ctx, orderColumn, t.before()) })
		part.Release()
		part = numbered
	}
	schema := t.Schema()
	if !r.plan.options.anyOrder {
		schema = arrow.NewSchema(append(schema.Fields(), arrow.Field{Name: orderColumn, Type: arrow.PrimitiveTypes.Int64, Nullable: true}), nil)
	}
	keys := r.plan.internal()
	types, err := keyTypes(t.Schema(), keys)
	if err != nil {
		r.fail(err)
	}
	t.Release()
	got, by := r.hashShuffle(part, schema, keys, types, nil)
	got = r.inOne(got)
	by.Keys = r.plan.names()
	made, err := r.ordered(by, func() (*table.Table, error) {
		whole := got
		got = nil
		defer whole.Release()
		return f(whole.Query()).Collect(r.ctx)
	})
	got.Release() // where it was not asked for
	return made, err
}

// together aggregates rows of which those of one group are on one rank: groups of a lower rank then appear before those of a higher one, and none moves.
func (r *groupRun) together(by Partitioning) (*Table, error) {
	made := r.table(func() (*table.Table, error) {
		groups, err := r.plan.local(r.d.part.Query()).Collect(r.ctx)
		return groups, err
	})
	defer made.Release()
	return r.finish(made, by)
}

// ordered ends with the groups that f makes on every rank: in the order of first appearance unless any
// order will do. Their order column is left out.
func (r *groupRun) ordered(by Partitioning, f func() (*table.Table, error)) (*Table, error) {
	groups := r.table(func() (*table.Table, error) {
		made, err := f()
		return made, r.plan.explain(err)
	})
	made, err := r.finish(groups, by)
	groups.Release()
	if err != nil || r.plan.options.anyOrder {
		return made, err
	}
	mine := r.dealSorted(made, table.Asc(orderColumn))
	made.Release()
	defer mine.Release()
	bare := r.table(func() (*table.Table, error) {
		return mine.Query().Sort(table.Asc(orderColumn)).Drop(orderColumn).Collect(r.ctx)
	})
	defer bare.Release()
	return r.finish(bare, Partitioning{})
}

// dealSorted gives every rank an equal range of rows that are sorted on each rank: groups are, by
// their numbers, since rows came by source rank and row.
func (o *op) dealSorted(d *Table, order table.Order) *table.Table {
	k, err := newRangeKeys([]table.Order{order})
	if err != nil {
		o.fail(err)
	}
	k.load(o, d.part)
	defer k.release()
	cuts := k.cuts(o)
	lists := make(pieces, o.comm.Size())
	o.do(func() (err error) {
		for r := range lists {
			if lists[r], err = batches(d.part, cuts[r], cuts[r+1]); err != nil {
				return err
			}
		}
		return nil
	})
	return o.whole(d.Schema(), lists)
}

// scalars aggregates all rows to one.
func (r *groupRun) scalars() (*Table, error) {
	parts, ended := r.parts()
	defer parts.Release()
	if ended != nil {
		return nil, ended
	}
	if parts == nil {
		return r.onRoot()
	}
	all := r.everywhere(parts.Schema(), parts.part.Retain())
	defer all.Release()
	one := r.table(func() (*table.Table, error) {
		made, err := r.plan.merged(all.Query(), false).Collect(r.ctx)
		return made, r.plan.explain(err)
	})
	defer one.Release()
	return r.finish(one, Partitioning{Scheme: Replicated})
}

// onRoot aggregates all rows on rank 0, which tells the others.
func (r *groupRun) onRoot() (*Table, error) {
	narrow := r.narrow(r.plan.once)
	defer narrow.Release()
	values, err := r.finish(narrow, Partitioning{})
	if err != nil {
		return nil, err
	}
	defer values.Release()
	lists := make(pieces, r.comm.Size())
	lists[0] = values.part.Chunks()
	all := r.deal(values.Schema(), lists)
	defer all.Release()
	one := r.table(func() (*table.Table, error) {
		q := r.plan.whole(all.Query(), false)
		if r.comm.Rank() > 0 {
			q = q.Head(0)
		}
		made, err := q.Collect(r.ctx)
		return made, r.plan.explain(err)
	})
	defer one.Release()
	made, err := r.finish(one, Partitioning{})
	if err != nil {
		return nil, err
	}
	defer made.Release()
	told := r.everywhere(made.Schema(), made.part.Retain())
	defer told.Release()
	return r.finish(told, Partitioning{Scheme: Replicated})
}

// explained is an error of an aggregate in the words of the caller.
type explained struct {
	err  error
	text string
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.err }

// explain puts the caller's expressions in the place of the names of columns that only
// this package knows.
func (p *groupPlan) explain(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for i := len(p.aggs) - 1; i >= 0; i-- {
		a := p.aggs[i]
		if a.arg == nil {
			continue
		}
		for _, name := range []string{a.value(), a.part("")} {
			text = strings.ReplaceAll(text, fmt.Sprintf("(%s)", expr.Col(name)), fmt.Sprintf("(%s)", a.arg))
		}
	}
	return &explained{err, text}
}
