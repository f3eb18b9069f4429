package table

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
)

// limitNode gives n rows from an offset.
type limitNode struct {
	in     node
	offset int64
	n      int64
}

func (n *limitNode) resolve(ctx context.Context) (node, error) {
	in, err := n.in.resolve(ctx)
	if err != nil {
		return nil, err
	}
	return &limitNode{in: in, offset: n.offset, n: n.n}, nil
}

func (n *limitNode) schema() *arrow.Schema { return n.in.schema() }
func (n *limitNode) inputs() []node        { return []node{n.in} }

func (n *limitNode) text() string {
	if n.offset > 0 {
		return fmt.Sprintf("limit %d from %d", n.n, n.offset)
	}
	return fmt.Sprintf("limit %d", n.n)
}

func (n *limitNode) withInputs(in []node) node {
	out := *n
	out.in = in[0]
	return &out
}

// push stops conditions: which rows are the first depends on them.
func (n *limitNode) push(conds []*expr.Expr) node {
	return keep(&limitNode{in: n.in.push(nil), offset: n.offset, n: n.n}, conds)
}

func (n *limitNode) prune(need names) node {
	return &limitNode{in: n.in.prune(need), offset: n.offset, n: n.n}
}

func (n *limitNode) compile(r *runner) (exec.Source, error) {
	in, err := r.compile(n.in)
	if err != nil {
		return nil, err
	}
	return exec.Limit(in, n.offset, n.n), nil
}

// unionNode gives the rows of its inputs one after another. Each has dictionaries
// of its own, which are one where a column is needed whole: their indices are wide.
type unionNode struct {
	ins []node
}

func (n *unionNode) resolve(ctx context.Context) (node, error) {
	out := &unionNode{}
	for k, in := range n.ins {
		in, err := in.resolve(ctx)
		if err != nil {
			return nil, err
		}
		in = widened(in)
		if k > 0 {
			if in, err = alike(in, out.schema()); err != nil {
				return nil, wrapError("union", err)
			}
		}
		out.ins = append(out.ins, in)
	}
	return out, nil
}

// alike checks that a node has the columns of want and puts them in its order.
func alike(n node, want *arrow.Schema) (node, error) {
	have := n.schema()
	for _, f := range want.Fields() {
		at := have.FieldIndices(f.Name)
		if len(at) == 0 {
			return nil, fmt.Errorf("the right side: %w", expr.UnknownColumn(f.Name, fieldNames(have)))
		}
		if g := have.Field(at[0]); !arrow.TypeEqual(f.Type, g.Type) {
			return nil, fmt.Errorf("%w: column %q is of type %s on the left and %s on the right", errMismatch, f.Name, expr.TypeName(f.Type), expr.TypeName(g.Type))
		}
	}
	for _, f := range have.Fields() {
		if len(want.FieldIndices(f.Name)) == 0 {
			return nil, fmt.Errorf("the left side: %w", expr.UnknownColumn(f.Name, fieldNames(want)))
		}
	}
	return exactly(n, want), nil
}

func (n *unionNode) schema() *arrow.Schema { return n.ins[0].schema() }
func (n *unionNode) inputs() []node        { return n.ins }

func (n *unionNode) withInputs(in []node) node {
	out := *n
	out.ins = in
	return &out
}

func (n *unionNode) text() string { return "union" }

func (n *unionNode) push(conds []*expr.Expr) node {
	out := &unionNode{}
	for _, in := range n.ins {
		out.ins = append(out.ins, in.push(conds))
	}
	return out
}

func (n *unionNode) prune(need names) node {
	want := subset(n.schema(), need.among(n.schema()))
	out := &unionNode{}
	for _, in := range n.ins {
		out.ins = append(out.ins, exactly(in.prune(need), want))
	}
	return out
}

func (n *unionNode) compile(r *runner) (exec.Source, error) {
	var ins []exec.Source
	for _, in := range n.ins {
		rows, err := r.compile(in)
		if err != nil {
			exec.Concat(ins...).Close()
			return nil, err
		}
		ins = append(ins, rows)
	}
	return exec.Concat(ins...), nil
}
