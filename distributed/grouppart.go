package distributed

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
)

// splits reports whether all aggregates can be made of those of parts of the groups.
func (p *groupPlan) splits() bool {
	for _, a := range p.aggs {
		o := a.options
		if a.isMoment() {
			o.Ddof = 0
		}
		if a.op == kernels.CountDistinct || makers[a.op] == nil && a.op != kernels.CountAll || o != (kernels.AggregateOptions{}) {
			return false
		}
	}
	return true
}

// isMoment reports whether an aggregate is made of counts, means and squared differences.
func (a groupAgg) isMoment() bool { return a.op == kernels.Var || a.op == kernels.Std }

// partial makes parts of groups of rows that narrow gave.
func (p *groupPlan) partial(q *table.Query) *table.Query {
	var all []table.Aggregate
	for _, a := range p.aggs {
		switch {
		case a.op == kernels.Mean:
			all = append(all, table.Sum(a.value()).As(a.part("")), table.Count(a.value()).As(a.part(" n")))
		case a.isMoment():
			all = append(all, table.Mean(a.value()).As(a.part(" mean")), table.Var(a.value()).As(a.part(" var")), table.Count(a.value()).As(a.part(" n")))
		default:
			all = append(all, aggregateOf(a.op, a.value()).As(a.part("")))
		}
	}
	return p.group(q).Agg(all...)
}

// merged makes the aggregates of parts, with the least number of the parts of a group if they
// have numbers.
func (p *groupPlan) merged(q *table.Query, ordered bool) *table.Query {
	q = p.centred(q)
	var all []table.Aggregate
	var items []any
	for i, name := range p.internal() {
		items = append(items, expr.Col(name).As(p.keys[i].name))
	}
	for _, a := range p.aggs {
		merge, result := a.merge()
		all = append(all, merge...)
		items = append(items, result.As(a.name))
	}
	if ordered {
		all = append(all, table.Min(orderColumn).As(orderColumn))
		items = append(items, orderColumn)
	}
	return p.group(q).Agg(all...).Select(items...)
}

// merge is how the parts of an aggregate are merged, and what the result is made of.
func (a groupAgg) merge() ([]table.Aggregate, *expr.Expr) {
	sum, n := a.part(""), a.part(" n")
	switch {
	case a.op == kernels.Count || a.op == kernels.CountAll:
		return []table.Aggregate{table.Sum(sum).As(sum)}, expr.Col(sum)
	case a.op == kernels.Mean:
		return []table.Aggregate{table.Sum(sum).As(sum), table.Sum(n).As(n)}, asFloat(sum).Div(asFloat(n))
	case a.isMoment():
		square := a.part(" square")
		divisor := expr.Col(n).Sub(int64(a.options.Ddof))
		v := expr.IfElse(divisor.Gt(int64(0)), expr.Col(square).Div(expr.Col(n).Sub(int64(a.options.Ddof)).Cast(arrow.PrimitiveTypes.Float64)), expr.Lit(nil))
		if a.op == kernels.Std {
			v = v.Sqrt()
		}
		return []table.Aggregate{table.Sum(square).As(square), table.Sum(n).As(n)}, v
	}
	return []table.Aggregate{aggregateOf(a.op, sum).As(sum)}, expr.Col(sum)
}

// asFloat is a column as float64: of integers and decimals the nearest.
func asFloat(name string) *expr.Expr { return expr.Col(name).Mul(expr.Lit(1.0)) }

// centred adds to parts the squared differences of their values from the mean of the whole group:
// those from their own mean, and that of the part's mean times its count. So nothing
// cancels out.
func (p *groupPlan) centred(q *table.Query) *table.Query {
	var sums []table.Aggregate
	for _, a := range p.aggs {
		if a.isMoment() {
			sums = append(sums, table.Sum(asFloat(a.part(" n")).Mul(expr.Col(a.part(" mean")))).As(a.part(" sum")), table.Sum(a.part(" n")).As(a.part(" all")))
		}
	}
	if sums == nil {
		return q
	}
	whole := p.group(q).Agg(sums...)
	if keys := p.internal(); len(keys) > 0 {
		q = q.Join(whole, table.Left, table.On(keys...), table.NullsEqual())
	} else {
		q = q.Join(whole, table.Cross)
	}
	for _, a := range p.aggs {
		if a.isMoment() {
			n, mean := asFloat(a.part(" n")), expr.Col(a.part(" mean"))
			away := mean.Sub(expr.Col(a.part(" sum")).Div(asFloat(a.part(" all"))))
			q = q.WithColumn(a.part(" square"), n.Mul(expr.Col(a.part(" var"))).Add(n.Mul(away).Mul(away)))
		}
	}
	return q
}
