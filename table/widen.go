package table

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
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

func (n *widenNode) schema() *arrow.Schema        { return wide(n.in.schema()) }
func (n *widenNode) inputs() []node               { return []node{n.in} }
func (n *widenNode) text() string                 { return "widen the indices of dictionaries" }
func (n *widenNode) withInputs(in []node) node    { return &widenNode{in[0]} }
func (n *widenNode) push(conds []*expr.Expr) node { return widened(n.in.push(conds)) }
func (n *widenNode) prune(need names) node        { return widened(n.in.prune(need)) }
func (n *widenNode) compile(r *runner) (operator, error) {
	in, err := r.compile(n.in)
	if err != nil {
		return nil, err
	}
	return &widenOp{r, in, n.schema()}, nil
}

type widenOp struct {
	r   *runner
	in  operator
	out *arrow.Schema
}

func (o *widenOp) next(ctx context.Context) (*Batch, error) {
	b, err := o.in.next(ctx)
	if err != nil {
		return nil, err
	}
	defer b.Release()
	return widenBatch(ctx, o.r.backend, o.r.stream, b, o.out)
}

func (o *widenOp) close() { o.in.close() }
