package table

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// distinctNode keeps the first of rows that are equal in some columns.
type distinctNode struct {
	in  node
	on  []string // resolved: never empty unless there are no columns
	all bool
	out *arrow.Schema
}

func (n *distinctNode) resolve(ctx context.Context) (node, error) {
	in, err := n.in.resolve(ctx)
	if err != nil {
		return nil, err
	}
	out := &distinctNode{in: in, on: n.on, out: in.schema()}
	if len(n.on) == 0 {
		out.on, out.all = fieldNames(in.schema()), true
	}
	for _, name := range out.on {
		if len(in.schema().FieldIndices(name)) == 0 {
			return nil, wrapError("distinct", expr.UnknownColumn(name, fieldNames(in.schema())))
		}
	}
	if err := canBeKeys(in.schema(), out.on); err != nil {
		return nil, wrapError("distinct", err)
	}
	return out, nil
}

// canBeKeys is nil where rows can be told apart by columns of a schema.
func canBeKeys(in *arrow.Schema, names []string) error {
	for _, f := range subset(in, names).Fields() {
		if !kernels.KeyTypes.Has(f.Type.ID()) {
			return fmt.Errorf("%w: column %q of type %s is no key", errUnsupported, f.Name, expr.TypeName(f.Type))
		}
	}
	return nil
}

func (n *distinctNode) schema() *arrow.Schema { return n.out }
func (n *distinctNode) inputs() []node        { return []node{n.in} }
func (n *distinctNode) text() string          { return "distinct on [" + strings.Join(n.on, ", ") + "]" }

func (n *distinctNode) withInputs(in []node) node {
	out := *n
	out.in = in[0]
	return &out
}

// push lets pass what reads only the columns that decide: they are the same in
// all rows of which one is kept.
func (n *distinctNode) push(conds []*expr.Expr) node {
	on := namesOf(n.on)
	below, above := split(conds, func(c *expr.Expr) bool { return reads(c, on) })
	out := *n
	out.in = n.in.push(below)
	return keep(&out, above)
}

func (n *distinctNode) prune(need names) node {
	list := need.among(n.out)
	out := *n
	out.in = n.in.prune(namesOf(list, n.on))
	out.out = subset(n.out, list)
	return &out
}

func (n *distinctNode) compile(r *runner) (exec.Source, error) {
	d := &distinct{r: r, node: n}
	c := &compactor{r: r, schema: n.in.schema(), what: "distinct", early: d.early, shrink: d.shrink, finish: d.finish, keys: d.tellers}
	return r.sunk(n.in, c, n.text()+", of each morsel")
}

type distinct struct {
	r    *runner
	node *distinctNode
}

func (o *distinct) finish(_ context.Context, all *Batch) (*Batch, error) {
	return project(all, o.node.out)
}

// tellers are the columns that tell rows apart.
func (o *distinct) tellers(columns []*memory.Column) (by []*memory.Column) {
	in := o.node.in.schema()
	for _, name := range o.node.on {
		by = append(by, columns[in.FieldIndices(name)[0]])
	}
	return by
}

// early keeps the first of equal rows of a morsel that has few others.
func (o *distinct) early(ctx context.Context, b *Batch) (*Batch, error) {
	if !o.r.early(b.Len()) {
		return b.Retain(), nil
	}
	few, err := o.r.sampleFew(ctx, b.Len(), pick(b, o.node.on))
	if err != nil {
		return nil, lacking(err, "distinct rows", o.node.on)
	}
	if !few {
		return b.Retain(), nil
	}
	return o.shrink(ctx, b)
}

// shrink keeps the first of equal rows. Rows without columns are all equal.
func (o *distinct) shrink(ctx context.Context, b *Batch) (*Batch, error) {
	if len(o.node.on) == 0 {
		return b.Slice(0, min(1, b.Len()))
	}
	rows, err := o.r.backend.Unique(ctx, o.r.stream, pick(b, o.node.on), kernels.GroupOptions{})
	if err != nil {
		return nil, lacking(err, "distinct rows", o.node.on)
	}
	defer rows.Release()
	if rows.Len() == b.Len() {
		return b.Retain(), nil
	}
	return o.r.takeBatch(ctx, b, rows)
}

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
