package table

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// eagerTimes is how many rows of the right side of a join have one key at least, on average, for them
// to be aggregated before the join.
const eagerTimes = 4

// eager aggregates the right side of an inner or a left join by its keys before the join, where
// all keys of the groups above it are of the left side and all aggregates of the right: the orders
// of each customer are counted, and then the counts are joined (Yan and Larson, "Eager aggregation and lazy aggregation",
// VLDB 1995). Each left row then has one match at most, and no pair of rows is made. The groups
// and their order are the same. Counts, least and greatest values, and sums of floats go this way. Other
// sums could be too large for a key that no left row has.
func (o *optimiser) eager(n node) node {
	if o.off[ruleEager] {
		return n
	}
	n = replaceTied(n, o.eager)
	g, ok := n.(*groupNode)
	if !ok {
		return n
	}
	j, ok := g.in.(*joinNode)
	if !ok || j.kind != Inner && j.kind != Left || j.where != nil || j.streams || !o.worthEager(j) {
		return n
	}
	e := eagerGroups{join: j, taken: names{}}
	for _, f := range append(j.left.schema().Fields(), j.right.schema().Fields()...) {
		e.taken[f.Name] = true
	}
	if out := e.rewritten(g); out != nil {
		return out
	}
	return n
}

// worthEager reports whether few keys have many rows on the right side of a join.
func (o *optimiser) worthEager(j *joinNode) bool {
	var keys []*expr.Expr
	for i, k := range j.keys {
		if kernels.FloatTypes.Has(j.keyTypes[i].ID()) { // which a join and groups tell apart in ways of their own
			return false
		}
		keys = append(keys, expr.Col(k.right))
	}
	rows := o.guess.rows(j.right)
	return len(keys) > 0 && rows >= o.guess.morsel && rows >= eagerTimes*o.guess.combinations(j.right, keys)
}

// eagerGroups rewrites groups above a join.
type eagerGroups struct {
	join   *joinNode
	taken  names // of columns
	before []Aggregate
}

// rewritten is the groups over what the right side was aggregated to, nil where it cannot be.
func (e *eagerGroups) rewritten(g *groupNode) node {
	left := names{}
	for _, o := range e.join.outputs {
		if o.from == fromLeft {
			left[o.name] = true
		}
	}
	for _, k := range g.keys {
		if !reads(k.e, left) {
			return nil
		}
	}
	out := *g
	out.aggs = nil
	for _, a := range g.aggs {
		later, ok := e.split(a)
		if !ok {
			return nil
		}
		out.aggs = append(out.aggs, later)
	}
	if len(g.keys) == 0 || len(g.aggs) == 0 {
		return nil
	}
	join := e.joined()
	if join == nil {
		return nil
	}
	out.in = join
	if made, err := out.result(join.out); err != nil || !sameTypes(made, g.out) {
		return nil
	}
	return &out
}

// split gives what is made of the rows of a key to e, and what is made of that above the join.
func (e *eagerGroups) split(a Aggregate) (later Aggregate, ok bool) {
	if a.options != (kernels.AggregateOptions{}) {
		return a, false
	}
	op, early := a.op, a
	switch {
	case a.op == kernels.CountAll:
		op = kernels.Sum
	case a.arg == nil:
		return a, false
	default:
		column, t, found := e.right(a.arg)
		if !found || a.op == kernels.Sum && !kernels.FloatTypes.Has(t.ID()) {
			return a, false
		}
		early.arg = expr.Col(column)
		switch a.op {
		case kernels.Count:
			op = kernels.Sum
		case kernels.Sum, kernels.Min, kernels.Max:
		default:
			return a, false
		}
	}
	early.name = e.fresh()
	e.before = append(e.before, early)
	arg := expr.Col(early.name)
	if e.join.kind == Left { // a left row without a match is a row, and has no value
		switch a.op {
		case kernels.CountAll:
			arg = arg.FillNull(1)
		case kernels.Count:
			arg = arg.FillNull(0)
		}
	}
	return Aggregate{op: op, arg: arg, name: a.name}, true
}

// right is the column of the right side that an expression is.
func (e *eagerGroups) right(x *expr.Expr) (column string, t arrow.DataType, found bool) {
	for x.Kind() == expr.KindAlias {
		x = x.Args()[0]
	}
	if x.Kind() != expr.KindColumn {
		return "", nil, false
	}
	for _, o := range e.join.outputs {
		if o.name == x.Name() && o.from == fromRight {
			return o.right, typeOf(e.join.right, o.right), true
		}
	}
	return "", nil, false
}

// fresh is a name that no column has.
func (e *eagerGroups) fresh() string {
	name := ""
	for i := len(e.before); name == "" || e.taken[name]; i++ {
		name = fmt.Sprintf("of a key %d", i)
	}
	e.taken[name] = true
	return name
}

// joined is the join with the right side aggregated.
func (e *eagerGroups) joined() *joinNode {
	j := *e.join
	groups := &groupNode{in: j.right, aggs: e.before, options: kernels.GroupOptions{AnyOrder: true, DropNullKeys: !j.nullsEqual}}
	seen := names{}
	for _, k := range j.keys {
		if seen[k.right] {
			return nil
		}
		seen[k.right] = true
		groups.keys = append(groups.keys, named{k.right, expr.Col(k.right)})
	}
	var err error
	if groups.out, err = groups.result(j.right.schema()); err != nil {
		return nil
	}
	var fields []arrow.Field
	j.outputs = nil
	for _, o := range e.join.outputs {
		if o.from == fromLeft {
			j.outputs = append(j.outputs, o)
			fields = append(fields, e.join.out.Field(e.join.out.FieldIndices(o.name)[0]))
		}
	}
	for _, f := range groups.out.Fields()[len(groups.keys):] {
		j.outputs = append(j.outputs, joinOutput{name: f.Name, from: fromRight, right: f.Name})
		fields = append(fields, f)
	}
	j.right, j.out = groups, arrow.NewSchema(fields, nil)
	return &j
}

// sameTypes reports whether two schemas have the same types.
func sameTypes(a, b *arrow.Schema) bool {
	for i, f := range a.Fields() {
		if i >= b.NumFields() || !arrow.TypeEqual(f.Type, b.Field(i).Type) {
			return false
		}
	}
	return a.NumFields() == b.NumFields()
}
