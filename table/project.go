package table

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
)

// projectNode computes named expressions.
type projectNode struct {
	in    node
	items []named
	out   *arrow.Schema
}

func (n *projectNode) resolve(ctx context.Context) (node, error) {
	in, err := n.in.resolve(ctx)
	if err != nil {
		return nil, err
	}
	out, err := schemaOf(in.schema(), n.items)
	if err != nil {
		return nil, wrapError("select", err)
	}
	return &projectNode{in: in, items: n.items, out: out}, nil
}

func (n *projectNode) schema() *arrow.Schema { return n.out }
func (n *projectNode) inputs() []node        { return []node{n.in} }
func (n *projectNode) text() string          { return "select " + listText(n.items) }

func (n *projectNode) withInputs(in []node) node {
	out := *n
	out.in = in[0]
	return &out
}

// push lets pass what reads only columns that this node hands on as they are.
func (n *projectNode) push(conds []*expr.Expr) node {
	below, above := through(conds, n.items)
	return keep(&projectNode{in: n.in.push(below), items: n.items, out: n.out}, above)
}

func (n *projectNode) prune(need names) node {
	var items []named
	for _, it := range n.items {
		if need[it.name] {
			items = append(items, it)
		}
	}
	below := namesOf(expr.Columns(exprsOf(items)...))
	return (&projectNode{in: n.in.prune(below), items: items, out: subset(n.out, need.among(n.out))}).reduced()
}

// reduced is the node without what it does not change: itself where it hands on
// what is below as it stands, and a projection below it that it only picks from.
func (n *projectNode) reduced() node {
	for _, it := range n.items {
		if it.e.Kind() != expr.KindColumn {
			return n
		}
	}
	if in, ok := n.in.(*projectNode); ok {
		of := map[string]*expr.Expr{}
		for _, it := range in.items {
			of[it.name] = it.e
		}
		merged := &projectNode{in: in.in, out: n.out}
		for _, it := range n.items {
			merged.items = append(merged.items, named{it.name, of[it.e.Name()]})
		}
		return merged.reduced()
	}
	for i, f := range n.in.schema().Fields() {
		if i >= len(n.items) || n.items[i].name != f.Name || n.items[i].e.Name() != f.Name {
			return n
		}
	}
	if len(n.items) != n.in.schema().NumFields() {
		return n
	}
	return n.in
}

func (n *projectNode) input() node                            { return n.in }
func (n *projectNode) compile(r *runner) (exec.Source, error) { return r.pipe(n) }

func (n *projectNode) step(r *runner) (exec.Operator, error) {
	bound, err := expr.BindAll(n.in.schema(), exprsOf(n.items)...)
	if err != nil {
		return nil, err
	}
	var ready *expr.Prepared
	return &stepFunc{
		prepare: func(ctx context.Context) (err error) {
			ready, err = bound.Prepare(ctx, r.backend, r.stream)
			return wrapError("select", err)
		},
		execute: func(ctx context.Context, b *Batch) (*Batch, error) {
			columns, err := ready.EvalAll(ctx, b.Len(), b.Columns())
			if err != nil {
				return nil, wrapError("select", err)
			}
			return NewBatch(n.out, b.Len(), columns)
		},
		release: func() { ready.Release() },
	}, nil
}

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
