package table

import (
	"context"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// sortNode orders rows, and gives the first of them if limit is not negative.
type sortNode struct {
	in    node
	keys  []Order
	limit int64
	out   *arrow.Schema
}

func (n *sortNode) resolve(ctx context.Context) (node, error) {
	in, err := n.in.resolve(ctx)
	if err != nil {
		return nil, err
	}
	for _, k := range n.keys {
		b, err := k.key.Bind(in.schema())
		if err == nil && !kernels.KeyTypes.Has(b.Type().ID()) {
			err = fmt.Errorf("%w: %s of type %s has no order", errUnsupported, k.key, expr.TypeName(b.Type()))
		}
		if err != nil {
			return nil, wrapError("sort", err)
		}
	}
	return &sortNode{in: in, keys: n.keys, limit: n.limit, out: in.schema()}, nil
}

func (n *sortNode) schema() *arrow.Schema { return n.out }
func (n *sortNode) inputs() []node        { return []node{n.in} }

func (n *sortNode) text() string {
	if n.limit >= 0 {
		return fmt.Sprintf("top %d by %s", n.limit, listText(n.keys))
	}
	return "sort by " + listText(n.keys)
}

func (n *sortNode) exprs() []*expr.Expr {
	all := make([]*expr.Expr, len(n.keys))
	for i, k := range n.keys {
		all[i] = k.key
	}
	return all
}

func (n *sortNode) withInputs(in []node) node {
	out := *n
	out.in = in[0]
	return &out
}

func (n *sortNode) push(conds []*expr.Expr) node {
	out := *n
	if n.limit >= 0 {
		out.in = n.in.push(nil)
		return keep(&out, conds)
	}
	out.in = n.in.push(conds)
	return &out
}

func (n *sortNode) prune(need names) node {
	list := need.among(n.out)
	out := *n
	out.in = n.in.prune(namesOf(list, expr.Columns(n.exprs()...)))
	out.out = subset(n.out, list)
	return &out
}

func (n *sortNode) compile(r *runner) (operator, error) {
	bound, err := expr.BindAll(n.in.schema(), n.exprs()...)
	if err != nil {
		return nil, err
	}
	o := &sortOp{r: r, node: n, bound: bound}
	if n.limit <= 0 {
		o.in, err = r.compile(n.in)
	} else {
		o.in, err = r.pipe(n.in, &stepFunc{what: n.text() + ", of each morsel", execute: o.early})
	}
	return o, err
}

type sortOp struct {
	r     *runner
	in    operator
	node  *sortNode
	bound *expr.Bound
	done  bool
}

func (o *sortOp) close() { o.in.close() }

func (o *sortOp) next(ctx context.Context) (*Batch, error) {
	if o.done {
		return nil, io.EOF
	}
	o.done = true
	all, err := o.gather(ctx)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	if all.Len() == 0 {
		return nil, io.EOF
	}
	if o.node.limit < 0 {
		sorted, err := o.sorted(ctx, all, o.node.out)
		return sorted, wrapError("sort", err)
	}
	return project(all, o.node.out)
}

// gather is all rows in one batch; of a top-k the rows that it gives, in order.
func (o *sortOp) gather(ctx context.Context) (*Batch, error) {
	schema := o.node.in.schema()
	if o.node.limit < 0 {
		batches, err := drain(ctx, o.in)
		if err != nil {
			return nil, err
		}
		return o.r.concat(ctx, schema, batches)
	}
	if o.node.limit == 0 {
		return o.r.empty(ctx, schema)
	}
	c := &compactor{r: o.r, schema: schema, shrink: func(ctx context.Context, b *Batch) (*Batch, error) {
		return o.sorted(ctx, b, schema)
	}}
	defer c.release()
	for {
		b, err := o.in.next(ctx)
		if err == io.EOF {
			return c.finish(ctx)
		}
		if err != nil {
			return nil, err
		}
		if err := c.add(ctx, b); err != nil {
			return nil, wrapError("sort", err)
		}
	}
}

// early keeps the first rows of a top-k of a batch that has many more.
func (o *sortOp) early(ctx context.Context, b *Batch) (*Batch, error) {
	if b.Len() <= 2*o.node.limit {
		return b.Retain(), nil
	}
	out, err := o.sorted(ctx, b, o.node.in.schema())
	return out, wrapError("sort", err)
}

// sorted is a batch in order, cut to the columns of schema and to the limit.
func (o *sortOp) sorted(ctx context.Context, b *Batch, schema *arrow.Schema) (*Batch, error) {
	values, err := o.bound.EvalAll(ctx, o.r.backend, o.r.stream, b.Len(), b.Columns())
	if err != nil {
		return nil, err
	}
	keys := make([]kernels.SortKey, len(values))
	for i, k := range o.node.keys {
		keys[i] = kernels.SortKey{Values: values[i], Descending: k.descending, NullsFirst: k.nullsFirst}
	}
	defer releaseColumns(values)
	if o.node.limit < 0 && len(schema.Fields()) > 0 {
		columns, err := o.r.backend.SortColumns(ctx, o.r.stream, keys, pick(b, fieldNames(schema)))
		if err != nil {
			return nil, err
		}
		return NewBatch(schema, b.Len(), columns)
	}
	limit := b.Len() // of no columns there is nothing but their number
	if o.node.limit >= 0 {
		limit = min(limit, o.node.limit)
	}
	rows, err := o.r.backend.TopK(ctx, o.r.stream, keys, limit)
	if err != nil {
		return nil, err
	}
	defer rows.Release()
	columns, err := o.r.take(ctx, pick(b, fieldNames(schema)), rows)
	if err != nil {
		return nil, err
	}
	return NewBatch(schema, rows.Len(), columns)
}

// Order is one key of Sort. It is a value: NullsFirst gives a changed copy.
type Order struct {
	key        *expr.Expr
	descending bool
	nullsFirst bool
	err        error
}

// Asc orders by a column, given by name, or an expression, from the least on,
// nulls last and NaNs just before them.
func Asc(key any) Order {
	e, err := columnOrExpr(key)
	return Order{key: e, err: err}
}

// Desc orders from the greatest on; nulls are last too.
func Desc(key any) Order {
	o := Asc(key)
	o.descending = true
	return o
}

// NullsFirst puts nulls, and NaNs after them, before all values.
func (o Order) NullsFirst() Order {
	o.nullsFirst = true
	return o
}

// String is the key and how it orders, as Explain has it.
func (o Order) String() string {
	if o.err != nil {
		return o.err.Error()
	}
	return o.text()
}

// Key is what is ordered by, and how; an error where Asc or Desc was given neither a name nor
// an expression.
func (o Order) Key() (key *expr.Expr, descending, nullsFirst bool, err error) {
	return o.key, o.descending, o.nullsFirst, o.err
}

func (o Order) text() string {
	s := o.key.String()
	if o.descending {
		s += " desc"
	}
	if o.nullsFirst {
		s += " nulls first"
	}
	return s
}
