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

func (n *projectNode) input() node                         { return n.in }
func (n *projectNode) compile(r *runner) (operator, error) { return r.pipe(n) }

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
