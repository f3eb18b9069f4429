package table

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
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

func (n *sortNode) compile(r *runner) (exec.Source, error) {
	bound, err := expr.BindAll(n.in.schema(), n.exprs()...)
	if err != nil {
		return nil, err
	}
	o := &sorting{r: r, node: n, bound: bound}
	switch {
	case n.limit < 0:
		return r.sunk(n.in, o, "")
	case n.limit == 0:
		none, err := r.compile(n.in)
		if err != nil {
			return nil, err
		}
		return exec.Limit(none, 0, 0), nil
	}
	schema := n.in.schema()
	c := &compactor{r: r, schema: schema, what: "sort", early: o.early,
		shrink: func(ctx context.Context, b *Batch) (*Batch, error) { return o.sorted(ctx, b, schema) },
		finish: func(_ context.Context, all *Batch) (*Batch, error) { return project(all, n.out) }}
	return r.sunk(n.in, c, n.text()+", of each morsel")
}

// sorting is the sink of a sort. It keeps all rows: the kernel that sorts whole columns, on all
// processors, takes less time than runs that are sorted by morsel and merged.
type sorting struct {
	exec.Keep
	r     *runner
	node  *sortNode
	bound *expr.Bound
}

// Finish gives all rows in order.
func (o *sorting) Finish(ctx context.Context, rows exec.SinkState) (exec.Source, error) {
	all, err := o.r.concat(ctx, o.node.in.schema(), rows.(*exec.Kept).Take())
	if err != nil {
		return nil, err
	}
	defer all.Release()
	if all.Len() == 0 {
		return exec.Batches(), nil
	}
	sorted, err := o.sorted(ctx, all, o.node.out)
	if err != nil {
		return nil, wrapError("sort", err)
	}
	return exec.Batches(sorted), nil
}

// early keeps the first rows of a top-k of a batch that has many more.
func (o *sorting) early(ctx context.Context, b *Batch) (*Batch, error) {
	if b.Len() <= 2*o.node.limit {
		return b.Retain(), nil
	}
	return o.sorted(ctx, b, o.node.in.schema())
}

// sorted is a batch in order, cut to the columns of schema and to the limit.
func (o *sorting) sorted(ctx context.Context, b *Batch, schema *arrow.Schema) (*Batch, error) {
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
			return nil, o.lacking(err)
		}
		return NewBatch(schema, b.Len(), columns)
	}
	limit := b.Len() // of no columns there is nothing but their number
	if o.node.limit >= 0 {
		limit = min(limit, o.node.limit)
	}
	rows, err := o.r.backend.TopK(ctx, o.r.stream, keys, limit)
	if err != nil {
		return nil, o.lacking(err)
	}
	defer rows.Release()
	columns, err := o.r.take(ctx, pick(b, fieldNames(schema)), rows)
	if err != nil {
		return nil, err
	}
	return NewBatch(schema, rows.Len(), columns)
}

// lacking names the key that the device has no order of.
func (o *sorting) lacking(err error) error {
	names := make([]string, len(o.node.keys))
	for i, k := range o.node.keys {
		names[i] = nameOf(k.key)
	}
	return lacking(err, "sort", names)
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
