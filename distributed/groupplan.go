package distributed

import (
	"context"
	"fmt"
	"strings"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// orderColumn is the number of the row of all ranks in which a group first appeared, or of
// the part of it.
const orderColumn = "order"

// groupPlan is how groups are made. Columns that travel have names of their own (key 0, value
// 0, part 0), so that the caller's may be any.
type groupPlan struct {
	options Grouping
	keys    []groupKey
	aggs    []groupAgg
	given   []table.Aggregate
}

type groupKey struct {
	name string
	e    *expr.Expr
}

// groupAgg is one aggregate.
type groupAgg struct {
	number  int
	op      kernels.Aggregation
	arg     *expr.Expr // nil for the number of rows
	name    string
	options kernels.AggregateOptions
}

func (a groupAgg) value() string           { return fmt.Sprintf("value %d", a.number) }
func (a groupAgg) part(kind string) string { return fmt.Sprintf("part %d%s", a.number, kind) }

// read takes the arguments of Agg, and gives their text. What is wrong with them check finds.
func (p *groupPlan) read(keys []any, aggregates []table.Aggregate) string {
	var text []string
	for _, k := range keys {
		e, _, _, err := table.Asc(k).Key()
		if err != nil {
			text = append(text, err.Error())
			continue
		}
		p.keys = append(p.keys, groupKey{exprName(e), e})
		text = append(text, e.String())
	}
	text = []string{strings.Join(text, ", ") + ":"}
	for i, a := range aggregates {
		op, arg, o, _ := a.Spec()
		p.aggs = append(p.aggs, groupAgg{i, op, arg, a.Name(), o})
		text = append(text, a.String())
	}
	p.given = aggregates
	if p.options.noNulls {
		text = append(text, "without null keys")
	}
	if p.options.anyOrder {
		text = append(text, "in any order")
	}
	return strings.Join(text, " ")
}

// exprName is the name of a column that an expression makes: its alias, the column, or its text.
func exprName(e *expr.Expr) string {
	if e.Kind() == expr.KindAlias || e.Kind() == expr.KindColumn {
		return e.Name()
	}
	return e.String()
}

// check finds what is wrong with the arguments, in the local operator's words.
func (p *groupPlan) check(ctx context.Context, part *table.Table) error {
	_, err := p.local(part.Query()).Explain(ctx)
	return err
}

// local is the whole aggregation on one rank.
func (p *groupPlan) local(q *table.Query) *table.Query {
	g := q.GroupBy(p.options.keys...)
	if p.options.noNulls {
		g = g.DropNullKeys()
	}
	if p.options.anyOrder {
		g = g.AnyOrder()
	}
	return g.Agg(p.given...)
}

// columns are the keys that are columns as they are; nil where one is not.
func (p *groupPlan) columns() []string {
	var all []string
	for _, k := range p.keys {
		if k.e.Kind() != expr.KindColumn {
			return nil
		}
		all = append(all, k.name)
	}
	return all
}

// names are those of the keys, internal those under which they travel.
func (p *groupPlan) names() []string {
	var all []string
	for _, k := range p.keys {
		all = append(all, k.name)
	}
	return all
}

func (p *groupPlan) internal() []string {
	var all []string
	for i := range p.keys {
		all = append(all, fmt.Sprintf("key %d", i))
	}
	return all
}

// narrow is the keys and values of rows under the names with which they travel.
func (p *groupPlan) narrow(q *table.Query) *table.Query {
	var items []any
	for i, name := range p.internal() {
		items = append(items, p.keys[i].e.As(name))
	}
	for _, a := range p.aggs {
		if a.arg != nil {
			items = append(items, a.arg.As(a.value()))
		}
	}
	return q.Select(items...)
}

// group is a grouping by the keys of rows that narrow gave, or of parts.
func (p *groupPlan) group(q *table.Query) *table.Grouping {
	g := q.GroupBy(toAny(p.internal())...)
	if p.options.noNulls {
		g = g.DropNullKeys()
	}
	return g
}

func toAny[T any](list []T) []any {
	all := make([]any, len(list))
	for i, v := range list {
		all[i] = v
	}
	return all
}

// sample is how many rows of a part are looked at for giving up, and how many groups they have.
func (p *groupPlan) sample(ctx context.Context, part *table.Table) (rows, groups int64, err error) {
	if len(p.keys) == 0 {
		return part.NumRows(), 1, nil
	}
	rows = min(part.NumRows(), max(groupLimits.sample, part.NumRows()/8))
	if rows == 0 {
		return 0, 0, nil
	}
	head, err := sliced(part, 0, rows)
	if err != nil {
		return 0, 0, err
	}
	defer head.Release()
	var items []any
	for i, name := range p.internal() {
		items = append(items, p.keys[i].e.As(name))
	}
	made, err := head.Query().Select(items...).Distinct().Collect(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer made.Release()
	return rows, made.NumRows(), nil
}

// whole groups rows that narrow gave, with the least row number of each group if they have
// numbers.
func (p *groupPlan) whole(q *table.Query, ordered bool) *table.Query {
	var all []table.Aggregate
	var items []any
	for i, name := range p.internal() {
		items = append(items, expr.Col(name).As(p.keys[i].name))
	}
	for _, a := range p.aggs {
		all = append(all, a.over(a.op, a.value(), a.part("")))
		items = append(items, expr.Col(a.part("")).As(a.name))
	}
	if ordered {
		all = append(all, table.Min(orderColumn).As(orderColumn))
		items = append(items, orderColumn)
	}
	return p.group(q).Agg(all...).Select(items...)
}

// over is an operation on a column that travels, with the aggregate's options.
func (a groupAgg) over(op kernels.Aggregation, column, name string) table.Aggregate {
	return aggregateOf(op, column).With(a.options).As(name)
}

// aggregateOf is the operation on a column.
func aggregateOf(op kernels.Aggregation, column string) table.Aggregate {
	if op == kernels.CountAll {
		return table.Count()
	}
	return makers[op](column)
}

var makers = map[kernels.Aggregation]func(any) table.Aggregate{
	kernels.Sum: table.Sum, kernels.SumWrapping: table.SumWrapping, kernels.Product: table.Product, kernels.Min: table.Min, kernels.Max: table.Max,
	kernels.Count: func(arg any) table.Aggregate { return table.Count(arg) }, kernels.CountDistinct: table.CountDistinct,
	kernels.Mean: table.Mean, kernels.Var: table.Var, kernels.Std: table.Std, kernels.First: table.First, kernels.Last: table.Last,
	kernels.Any: table.Any, kernels.All: table.All,
}

// repeatable are the aggregates that do not change when a row comes twice.
var repeatable = map[kernels.Aggregation]bool{
	kernels.CountDistinct: true, kernels.Min: true, kernels.Max: true, kernels.Any: true, kernels.All: true, kernels.First: true,
}

// once leaves out rows of narrow that say nothing new, where that changes no aggregate.
func (p *groupPlan) once(q *table.Query) *table.Query {
	for _, a := range p.aggs {
		if !repeatable[a.op] || a.options.MinCount > 1 {
			return q
		}
	}
	return q.Distinct()
}
