package table

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
)

// mergeMost is how many steps the expressions of one projection may have to be computed
// with those of another: a column that each of many projections reads twice would come
// out in ever more of them.
const mergeMost = 256

// merged are expressions over the columns below a projection that compute what the given
// ones do over its results, of the same types: both then take one pass, in which parts that
// they share are computed once. ok is false where there would be too many steps, or a
// constant among what is read, whose type follows what it stands in.
func (n *projectNode) merged(exprs []*expr.Expr) (bound *expr.Bound, below []*expr.Expr, ok bool) {
	of, sizes := map[string]*expr.Expr{}, map[string]int{}
	for _, it := range n.items {
		e := it.e
		for e.Kind() == expr.KindAlias {
			e = e.Args()[0]
		}
		of[it.name], sizes[it.name] = e, sizeOf(e, nil)
	}
	steps := 0
	for _, e := range exprs {
		if steps += sizeOf(e, sizes); steps > mergeMost {
			return nil, nil, false
		}
		for _, name := range expr.Columns(e) {
			if len(expr.Columns(of[name])) == 0 {
				return nil, nil, false
			}
		}
	}
	for _, e := range exprs {
		below = append(below, expr.Rewrite(e, func(name string) *expr.Expr { return of[name] }))
	}
	bound, err := expr.BindAll(n.in.schema(), below...)
	if err != nil {
		return nil, nil, false
	}
	over, err := expr.BindAll(n.out, exprs...)
	for i := range exprs {
		if err != nil || !arrow.TypeEqual(bound.TypeOf(i), over.TypeOf(i)) {
			return nil, nil, false
		}
	}
	return bound, below, true
}

// sizeOf is the number of steps of an expression, of which columns count as many as
// sizes says.
func sizeOf(e *expr.Expr, sizes map[string]int) int {
	if e.Kind() == expr.KindColumn {
		return max(sizes[e.Name()], 1)
	}
	n := 1
	for _, a := range e.Args() {
		if n += sizeOf(a, sizes); n > mergeMost {
			return n
		}
	}
	return n
}

// onto is a projection over another as one over what is below that one, or nil.
func (n *projectNode) onto(in node) *projectNode {
	lower, ok := in.(*projectNode)
	if !ok {
		return nil
	}
	_, below, ok := lower.merged(exprsOf(n.items))
	if !ok {
		return nil
	}
	out := &projectNode{in: lower.in, out: n.out}
	for i, it := range n.items {
		out.items = append(out.items, named{it.name, below[i]})
	}
	return out
}
