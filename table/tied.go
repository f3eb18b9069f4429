package table

import (
	"context"
	"io"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
)

// tiedNode is a sort over rows that come in another order than was written. Where
// its keys tell all rows of the result apart nobody can see that. Where two are equal the
// plan as written is run: equal rows then stand in their order.
type tiedNode struct {
	sort *sortNode
	slow node // the sort over the rows as they were written
	out  *arrow.Schema
}

func (n *tiedNode) resolve(context.Context) (node, error) { return n, nil }
func (n *tiedNode) schema() *arrow.Schema                 { return n.out }
func (n *tiedNode) inputs() []node                        { return []node{n.sort.in} }
func (n *tiedNode) text() string                          { return n.sort.text() + ", ties as written" }
func (n *tiedNode) push(conds []*expr.Expr) node          { return keep(n, conds) }

func (n *tiedNode) withInputs(in []node) node {
	out := *n
	out.sort = n.sort.withInputs(in).(*sortNode)
	return &out
}

func (n *tiedNode) prune(need names) node {
	list := need.among(n.out)
	want := subset(n.out, list)
	return &tiedNode{
		sort: n.sort.prune(namesOf(list, expr.Columns(n.sort.exprs()...))).(*sortNode),
		slow: exactly(n.slow.prune(namesOf(list)), want),
		out:  want,
	}
}

func (n *tiedNode) compile(r *runner) (exec.Source, error) {
	more := *n.sort
	if more.limit >= 0 { // the first row that is left out may be equal to the last that is not
		more.limit += min(1, math.MaxInt64-more.limit)
	}
	bound, err := expr.BindAll(more.schema(), more.exprs()...)
	if err != nil {
		return nil, err
	}
	fast, err := r.compile(&more)
	if err != nil {
		return nil, err
	}
	return &tiedSource{r: r, node: n, fast: fast, bound: bound}, nil
}

type tiedSource struct {
	r     *runner
	node  *tiedNode
	fast  exec.Source // nil once it gave its rows
	bound *expr.Bound
	slow  exec.Source // where rows are equal
}

func (o *tiedSource) Close() {
	if o.fast != nil {
		o.fast.Close()
	}
	if o.slow != nil {
		o.slow.Close()
	}
}

func (o *tiedSource) Next(ctx context.Context) (*Batch, error) {
	if o.slow != nil {
		return o.slow.Next(ctx)
	}
	if o.fast == nil {
		return nil, io.EOF
	}
	batches, err := drain(ctx, o.fast)
	if err != nil {
		return nil, err
	}
	o.fast.Close()
	o.fast = nil
	if len(batches) == 0 {
		return nil, io.EOF
	}
	all, err := o.r.concat(ctx, o.node.sort.schema(), batches)
	if err != nil {
		return nil, err
	}
	defer all.Release()
	equal, err := o.ties(ctx, all)
	if err != nil {
		return nil, wrapError("sort", err)
	}
	if equal {
		if o.slow, err = o.r.plan("ties as written", o.node.slow); err != nil {
			return nil, err
		}
		return o.slow.Next(ctx)
	}
	if limit := o.node.sort.limit; limit >= 0 && all.Len() > limit {
		some, err := all.Slice(0, limit)
		if err != nil {
			return nil, err
		}
		defer some.Release()
		return project(some, o.node.out)
	}
	return project(all, o.node.out)
}

// ties reports whether rows are equal in all keys.
func (o *tiedSource) ties(ctx context.Context, b *Batch) (bool, error) {
	keys, err := o.bound.EvalAll(ctx, o.r.backend, o.r.stream, b.Len(), b.Columns())
	if err != nil {
		return false, err
	}
	defer releaseColumns(keys)
	rows, err := o.r.backend.Unique(ctx, o.r.stream, keys, kernels.GroupOptions{AnyOrder: true})
	if err != nil {
		return false, err
	}
	defer rows.Release()
	return rows.Len() < b.Len(), nil
}

// fewTies is how many pairs of equal rows may be expected where a sort is still thought
// to tell its rows apart, and manyValues how many values a computed key is thought to have.
const (
	fewTies    = 0.1
	manyValues = 1e7
)

// tellsApart reports whether the keys of a sort are likely to differ in all rows that it
// gives.
func (e *estimates) tellsApart(n *sortNode) bool {
	rows, values := e.rows(n)+1, 1.0
	for _, k := range n.keys {
		switch c := e.column(n.in, nameOf(k.key)); {
		case c != nil:
			values *= max(1, c.Distinct)
		case counted(n.in, nameOf(k.key)):
			values *= 100
		default:
			values *= manyValues
		}
	}
	return rows*rows/2/values < fewTies
}

// counted reports whether a column is a count of rows.
func counted(n node, name string) bool {
	switch n := n.(type) {
	case *groupNode:
		for _, a := range n.aggs {
			if a.name == name {
				return a.op == kernels.Count || a.op == kernels.CountAll || a.op == kernels.CountDistinct
			}
		}
	case *filterNode, *sortNode, *limitNode:
		return counted(n.inputs()[0], name)
	case *projectNode:
		for _, it := range n.items {
			if it.name == name && it.e.Kind() == expr.KindColumn {
				return counted(n.in, it.e.Name())
			}
		}
	}
	return false
}
