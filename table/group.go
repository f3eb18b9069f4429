package table

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
)

// Grouping is a query with the keys of its groups: continue with Agg.
type Grouping struct {
	query   *Query
	keys    []named
	options kernels.GroupOptions
	err     error
}

// GroupBy makes groups of the rows whose keys are equal. Keys are names of
// columns or expressions. A null is a key like others, NaNs are equal, and
// groups come in order of first appearance.
func (q *Query) GroupBy(keys ...any) *Grouping {
	g := &Grouping{query: q}
	for _, k := range keys {
		e, err := columnOrExpr(k)
		if err != nil && g.err == nil {
			g.err = fmt.Errorf("group by: %w", err)
		} else if err == nil {
			g.keys = append(g.keys, named{nameOf(e), e})
		}
	}
	return g
}

// DropNullKeys leaves out rows with a null in any key.
func (g *Grouping) DropNullKeys() *Grouping {
	next := *g
	next.options.DropNullKeys = true
	return &next
}

// AnyOrder allows groups in whatever order is fastest.
func (g *Grouping) AnyOrder() *Grouping {
	next := *g
	next.options.AnyOrder = true
	return &next
}

// Agg gives a row for each group: the keys and then the aggregates. Without
// keys there is one row, also of no rows.
func (g *Grouping) Agg(aggregates ...Aggregate) *Query {
	err := g.err
	for _, a := range aggregates {
		if err == nil && a.err != nil {
			err = a.err
		}
	}
	return g.query.then(&groupNode{in: g.query.plan, keys: g.keys, aggs: aggregates, options: g.options}, err)
}

// Agg aggregates all rows to one.
func (q *Query) Agg(aggregates ...Aggregate) *Query { return q.GroupBy().Agg(aggregates...) }

// groupNode aggregates rows by keys.
type groupNode struct {
	in      node
	keys    []named
	aggs    []Aggregate
	options kernels.GroupOptions
	out     *arrow.Schema
	depends *dependence // what may tell that some keys depend on others; or nil
}

func (n *groupNode) resolve(ctx context.Context) (node, error) {
	in, err := n.in.resolve(ctx)
	if err != nil {
		return nil, err
	}
	out := *n
	out.in = in
	if out.out, err = n.result(in.schema()); err != nil {
		return nil, wrapError("group by", err)
	}
	return &out, nil
}

// result is the schema: keys, then aggregates.
func (n *groupNode) result(in *arrow.Schema) (*arrow.Schema, error) {
	keys, err := schemaOf(in, n.keys)
	if err != nil {
		return nil, err
	}
	fields := keys.Fields()
	for i, k := range fields {
		if !kernels.KeyTypes.Has(k.Type.ID()) {
			return nil, fmt.Errorf("%w: %s of type %s is no key", errUnsupported, n.keys[i].e, expr.TypeName(k.Type))
		}
	}
	for _, a := range n.aggs {
		var arg arrow.DataType
		if a.arg != nil {
			b, err := a.arg.Bind(in)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", a.op, err)
			}
			arg = b.Type()
		}
		t, err := kernels.AggregateType(a.op, arg)
		if err != nil {
			return nil, fmt.Errorf("%s of %s of type %s: %w", a.op, a.arg, expr.TypeName(arg), err)
		}
		fields = append(fields, arrow.Field{Name: a.name, Type: t, Nullable: true})
	}
	out := arrow.NewSchema(fields, nil)
	return out, uniqueNames(out)
}

func (n *groupNode) schema() *arrow.Schema { return n.out }
func (n *groupNode) inputs() []node        { return []node{n.in} }

func (n *groupNode) text() string {
	var s strings.Builder
	if len(n.keys) > 0 {
		s.WriteString("group by " + listText(n.keys) + ": ")
	} else {
		s.WriteString("aggregate ")
	}
	s.WriteString(listText(n.aggs))
	if n.depends != nil {
		s.WriteString(", by " + listText(n.depends.likely) + " alone if that is unique")
	}
	return s.String()
}

func (n *groupNode) withInputs(in []node) node {
	out := *n
	out.in = in[0]
	return &out
}

// push lets pass what reads only keys: it is the same for all rows of a group.
func (n *groupNode) push(conds []*expr.Expr) node {
	below, above := through(conds, n.keys)
	out := *n
	out.in = n.in.push(below)
	return keep(&out, above)
}

// prune leaves out aggregates that nobody reads; the keys stay.
func (n *groupNode) prune(need names) node {
	out := *n
	out.aggs = nil
	for _, k := range n.keys {
		need[k.name] = true
	}
	reads := exprsOf(n.keys)
	for _, a := range n.aggs {
		if need[a.name] {
			out.aggs = append(out.aggs, a)
			reads = append(reads, a.arg)
		}
	}
	out.in = n.in.prune(namesOf(expr.Columns(reads...)))
	out.out = subset(n.out, need.among(n.out))
	return &out
}

func (n *groupNode) compile(r *runner) (exec.Source, error) {
	o := &grouping{r: r, node: n}
	in, exprs, bound, merged := n.merged(n.exprs())
	o.bound = bound
	for _, p := range merged {
		r.with(p)
	}
	var err error
	if o.bound == nil {
		if o.bound, err = expr.BindAll(in.schema(), exprs...); err != nil {
			return nil, err
		}
	}
	if err = o.once(in.schema(), exprs); err != nil {
		return nil, err
	}
	if err = o.plan(); err != nil {
		return nil, err
	}
	return r.sunk(o.masks(in), o, n.text()+", of each morsel")
}

// merged goes down through the projections whose results expressions can be computed with: it gives what is
// below, the expressions over that, bound unless they are as given, and the projections.
func (n *groupNode) merged(exprs []*expr.Expr) (in node, below []*expr.Expr, bound *expr.Bound, projections []*projectNode) {
	in = n.in
	for {
		p, ok := in.(*projectNode)
		if !ok {
			return in, exprs, bound, projections
		}
		b, below, ok := p.merged(exprs)
		if !ok {
			return in, exprs, bound, projections
		}
		in, exprs, bound, projections = p.in, below, b, append(projections, p)
	}
}

// exprs are the keys, and then the values of each aggregation.
func (n *groupNode) exprs() []*expr.Expr {
	all := exprsOf(n.keys)
	for _, a := range n.aggs {
		all = append(all, a.steps()...)
	}
	return all
}

// once binds each of the expressions of keys and aggregations that is there several times
// once, so that sum(x) and mean(x) read one column, and says where each aggregation's is.
func (o *grouping) once(schema *arrow.Schema, exprs []*expr.Expr) error {
	var places, first []int // of each expression: its result; of each result: its first expression
	var unique []*expr.Expr
	for i, e := range exprs {
		at := -1
		for k := range first {
			if i >= len(o.node.keys) && o.bound.Same(first[k], i) {
				at = k
				break
			}
		}
		if at < 0 {
			at = len(unique)
			unique, first = append(unique, e), append(first, i)
		}
		places = append(places, at)
	}
	places = places[len(o.node.keys):]
	for _, a := range o.node.aggs {
		if a.arg == nil {
			o.values = append(o.values, -1)
			continue
		}
		o.values, places = append(o.values, places[0]), places[1:]
	}
	o.results = len(unique)
	if len(unique) == len(exprs) {
		return nil
	}
	var err error
	o.bound, err = expr.BindAll(schema, unique...)
	return err
}

// steps are the expressions whose values the aggregation reads: none for
// Count().
func (a Aggregate) steps() []*expr.Expr {
	if a.arg == nil {
		return nil
	}
	return []*expr.Expr{a.arg}
}
