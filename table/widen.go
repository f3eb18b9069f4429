package table

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
)

// widenNode gives its dictionaries WideIndices, as rows need that are to be united
// with others.
type widenNode struct{ in node }

// widened is n, or n with wider indices where a dictionary of it has narrow ones.
func widened(n node) node {
	if s := n.schema(); wide(s) == s {
		return n
	}
	return &widenNode{n}
}

func (n *widenNode) resolve(ctx context.Context) (node, error) {
	in, err := n.in.resolve(ctx)
	if err != nil {
		return nil, err
	}
	return widened(in), nil
}

func (n *widenNode) schema() *arrow.Schema                  { return wide(n.in.schema()) }
func (n *widenNode) inputs() []node                         { return []node{n.in} }
func (n *widenNode) text() string                           { return "widen the indices of dictionaries" }
func (n *widenNode) withInputs(in []node) node              { return &widenNode{in[0]} }
func (n *widenNode) push(conds []*expr.Expr) node           { return widened(n.in.push(conds)) }
func (n *widenNode) prune(need names) node                  { return widened(n.in.prune(need)) }
func (n *widenNode) input() node                            { return n.in }
func (n *widenNode) compile(r *runner) (exec.Source, error) { return r.pipe(n) }

func (n *widenNode) step(r *runner) (exec.Operator, error) {
	out := n.schema()
	return &stepFunc{execute: func(ctx context.Context, b *Batch) (*Batch, error) {
		return widenBatch(ctx, r.backend, r.stream, b, out)
	}}, nil
}
