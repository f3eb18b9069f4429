package table

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
)

// Intersect is the distinct rows of q that other has too, in the order in which they first
// come in q. Other must have the columns of q, in any order. Nulls are equal, and NaNs.
func (q *Query) Intersect(other Relation) *Query {
	return q.with(other, func(right node) node { return &setNode{q.plan, right, Semi} })
}

// Except is the distinct rows of q that other has not, with the rules of Intersect.
func (q *Query) Except(other Relation) *Query {
	return q.with(other, func(right node) node { return &setNode{q.plan, right, Anti} })
}

// setNode compares whole rows: a join of the distinct rows on all columns once these are
// known.
type setNode struct {
	left, right node
	kind        Kind
}

func (n *setNode) resolve(ctx context.Context) (node, error) {
	in, err := n.left.resolve(ctx)
	if err != nil {
		return nil, err
	}
	if err := canBeKeys(in.schema(), fieldNames(in.schema())); err != nil {
		return nil, wrapError(n.text(), err)
	}
	left, err := (&distinctNode{in: in}).resolve(ctx)
	if err != nil {
		return nil, err
	}
	right, err := n.right.resolve(ctx)
	if err != nil {
		return nil, err
	}
	if right, err = alike(right, left.schema()); err != nil {
		return nil, wrapError(n.text(), err)
	}
	if left.schema().NumFields() == 0 {
		return nil, wrapError(n.text(), expr.UnknownColumn("any column", nil))
	}
	join := &joinNode{left: left, right: right, kind: n.kind, joinOptions: joinOptions{nullsEqual: true}}
	for _, name := range fieldNames(left.schema()) {
		join.keys = append(join.keys, keyPair{name, name})
	}
	return join.resolve(ctx)
}

func (n *setNode) text() string {
	if n.kind == Semi {
		return "intersect"
	}
	return "except"
}

// The rest of node is never asked of a setNode: resolve replaces it.

func (n *setNode) schema() *arrow.Schema                { return nil }
func (n *setNode) inputs() []node                       { return []node{n.left, n.right} }
func (n *setNode) withInputs([]node) node               { return n }
func (n *setNode) push([]*expr.Expr) node               { return n }
func (n *setNode) prune(names) node                     { return n }
func (n *setNode) compile(*runner) (exec.Source, error) { return n.left.compile(nil) }
