package table

import (
	"context"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
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
	return out, nil
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

func (n *distinctNode) compile(r *runner) (operator, error) {
	o := &distinctOp{r: r, node: n}
	var err error
	o.in, err = r.pipe(n.in, &stepFunc{what: n.text() + ", of each morsel", execute: o.early})
	return o, err
}

type distinctOp struct {
	r    *runner
	in   operator
	node *distinctNode
	done bool
}

func (o *distinctOp) close() { o.in.close() }

func (o *distinctOp) next(ctx context.Context) (*Batch, error) {
	if o.done {
		return nil, io.EOF
	}
	o.done = true
	c := &compactor{r: o.r, schema: o.node.in.schema(), shrink: o.shrink}
	defer c.release()
	for {
		b, err := o.in.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := c.add(ctx, b); err != nil {
			return nil, wrapError("distinct", err)
		}
	}
	all, err := c.finish(ctx)
	if err != nil {
		return nil, wrapError("distinct", err)
	}
	defer all.Release()
	if all.Len() == 0 {
		return nil, io.EOF
	}
	return project(all, o.node.out)
}

// early keeps the first of equal rows of a morsel that has few others.
func (o *distinctOp) early(ctx context.Context, b *Batch) (*Batch, error) {
	if !o.r.early(b.Len()) {
		return b.Retain(), nil
	}
	few, err := o.r.sampleFew(ctx, b.Len(), pick(b, o.node.on))
	if err != nil {
		return nil, wrapError("distinct", err)
	}
	if !few {
		return b.Retain(), nil
	}
	out, err := o.shrink(ctx, b)
	return out, wrapError("distinct", err)
}

// shrink keeps the first of equal rows. Rows without columns are all equal.
func (o *distinctOp) shrink(ctx context.Context, b *Batch) (*Batch, error) {
	if len(o.node.on) == 0 {
		return b.Slice(0, min(1, b.Len()))
	}
	rows, err := o.r.backend.Unique(ctx, o.r.stream, pick(b, o.node.on), kernels.GroupOptions{})
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	if rows.Len() == b.Len() {
		return b.Retain(), nil
	}
	return o.r.takeBatch(ctx, b, rows)
}
