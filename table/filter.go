package table

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// filterNode keeps the rows for which a condition is true.
type filterNode struct {
	in        node
	predicate *expr.Expr // nil where there are only keys
	keys      []keyTest  // of joins, that rows must have
	out       *arrow.Schema
	mask      bool          // groups just above may be given the mask: see the rule
	masked    *arrow.Schema // out and a mask: what is above takes rows that are kept for the most part with their mask; or nil
}

func (n *filterNode) resolve(ctx context.Context) (node, error) {
	in, err := n.in.resolve(ctx)
	if err != nil {
		return nil, err
	}
	b, err := n.predicate.Bind(in.schema())
	if err == nil && b.Type().ID() != arrow.BOOL {
		err = fmt.Errorf("%w: %s is of type %s, not bool", device.ErrMismatch, n.predicate, expr.TypeName(b.Type()))
	}
	if err != nil {
		return nil, wrapError("filter", err)
	}
	return &filterNode{in: in, predicate: n.predicate, out: in.schema()}, nil
}

func (n *filterNode) schema() *arrow.Schema { return n.out }
func (n *filterNode) inputs() []node        { return []node{n.in} }

func (n *filterNode) text() string {
	switch {
	case n.mask:
		return "filter " + n.predicate.String() + ", as a mask where most rows stay"
	case n.predicate == nil:
		return "filter " + testTexts(n.keys)
	case len(n.keys) > 0:
		return "filter " + n.predicate.String() + " and " + testTexts(n.keys)
	}
	return "filter " + n.predicate.String()
}

func (n *filterNode) withInputs(in []node) node {
	out := *n
	out.in = in[0]
	return &out
}

// push lets conditions pass, its own among them. Those that may fail on a row
// stay, and the conditions after them, so that each sees only rows that those
// before it let through.
func (n *filterNode) push(conds []*expr.Expr) node {
	var all []*expr.Expr
	for _, c := range expr.Conjuncts(n.predicate) {
		all = append(all, factored(c)...)
	}
	own, stay := split(all, func(c *expr.Expr) bool { return !mayFail(c) })
	pass, above := split(conds, func(c *expr.Expr) bool { return !mayFail(c) })
	below := n.in.push(append(own, pass...))
	return keep(keep(below, stay), above)
}

func (n *filterNode) prune(need names) node {
	list := need.among(n.out)
	below := namesOf(list, expr.Columns(n.predicate))
	return &filterNode{in: n.in.prune(below), predicate: n.predicate, out: subset(n.out, list)}
}

func (n *filterNode) input() node                            { return n.in }
func (n *filterNode) compile(r *runner) (exec.Source, error) { return r.pipe(n) }

func (n *filterNode) step(r *runner) (exec.Operator, error) {
	var bound *expr.Bound
	if n.predicate != nil {
		var err error
		if bound, err = n.predicate.Bind(n.in.schema()); err != nil {
			return nil, err
		}
	}
	var ready *expr.Prepared
	return &stepFunc{
		prepare: func(ctx context.Context) (err error) {
			if bound != nil {
				ready, err = bound.Prepare(ctx, r.backend, r.stream)
			}
			return wrapError("filter", err)
		},
		execute: func(ctx context.Context, b *Batch) (*Batch, error) {
			if n.masked != nil && r.early(b.Len()) {
				out, err := r.masked(ctx, b, ready, n)
				return out, wrapError("filter", err)
			}
			out, err := r.filter(ctx, b, ready, r.setsOf(b, n.keys), n.out)
			return out, wrapError("filter", err)
		},
		release: func() { ready.Release() },
	}, nil
}

// filter is the rows of a batch for which the condition, if there is one, is true, and whose keys
// are in the sets, cut to the columns of schema. Where all rows stay nothing is copied.
func (r *runner) filter(ctx context.Context, b *Batch, cond *expr.Prepared, sets []setTest, schema *arrow.Schema) (*Batch, error) {
	if cond == nil && len(sets) == 0 {
		return project(b, schema)
	}
	if len(sets) == 0 {
		if out, done, err := r.filterWhere(ctx, b, cond, schema); done || err != nil {
			return out, err
		}
	}
	mask, err := r.mask(ctx, b, cond, sets)
	if err != nil {
		return nil, err
	}
	defer mask.Release()
	return r.kept(ctx, b, mask, schema)
}

// kept is the rows of a batch that a mask has, cut to the columns of schema.
func (r *runner) kept(ctx context.Context, b *Batch, mask *memory.Column, schema *arrow.Schema) (*Batch, error) {
	kept, err := r.count(ctx, mask)
	if err != nil {
		return nil, err
	}
	switch kept {
	case 0:
		return r.empty(ctx, schema)
	case b.Len():
		return project(b, schema)
	}
	var columns []*memory.Column
	for _, c := range pick(b, fieldNames(schema)) {
		f, err := r.backend.Filter(ctx, r.stream, c, mask, kernels.FilterOptions{})
		if err != nil {
			releaseColumns(columns)
			return nil, err
		}
		columns = append(columns, f)
	}
	return NewBatch(schema, kept, columns)
}

// mask is the mask of the rows that filter keeps.
func (r *runner) mask(ctx context.Context, b *Batch, cond *expr.Prepared, sets []setTest) (*memory.Column, error) {
	if cond == nil {
		return r.testedMask(nil, b.Len(), sets)
	}
	masks, err := cond.EvalAll(ctx, b.Len(), b.Columns())
	if err != nil {
		return nil, err
	}
	if len(sets) == 0 {
		return masks[0], nil
	}
	defer releaseColumns(masks)
	return r.testedMask(masks[0], b.Len(), sets)
}

// filterWhere is filter in one pass, where the backend has it. A row that the
// condition refuses is left to filter, whose errors count rows from the first.
func (r *runner) filterWhere(ctx context.Context, b *Batch, cond *expr.Prepared, schema *arrow.Schema) (out *Batch, done bool, err error) {
	if r.backend.Set.FilterWhere.Func == nil || schema.NumFields() == 0 {
		return nil, false, nil
	}
	columns, done, err := r.backend.FilterWhere(ctx, r.stream, pick(b, fieldNames(schema)), func(ctx context.Context, from, n int64) (*memory.Column, error) {
		return cond.Eval(ctx, from, n, b.Columns())
	})
	if errors.Is(err, device.ErrValue) {
		return nil, false, nil
	}
	if !done || err != nil {
		return nil, false, err
	}
	out, err = NewBatch(schema, columns[0].Len(), columns)
	return out, true, err
}

// count is the number of rows of a mask that are true.
func (r *runner) count(ctx context.Context, mask *memory.Column) (int64, error) {
	if mask.Place().HostAccessible() && mask.Len() > 0 {
		return countTrue(mask), nil
	}
	sum, err := r.backend.Reduce(ctx, r.stream, kernels.Sum, mask, kernels.AggregateOptions{})
	if err != nil {
		return 0, err
	}
	defer sum.Release()
	v, err := r.backend.Scalar(ctx, r.stream, sum, 0)
	if err != nil || !v.Valid() {
		return 0, err
	}
	return v.Int64(), nil
}

// countTrue counts in host memory, a word at a time.
func countTrue(mask *memory.Column) int64 {
	values, valid := mask.Bits(), mask.Validity()
	if valid == nil {
		return values.Count(mask.Offset(), mask.Len())
	}
	n := 0
	for i := int64(0); i < mask.Len(); i += 64 {
		at, k := mask.Offset()+i, min(64, mask.Len()-i)
		n += bits.OnesCount64(values.Word(at, k) & valid.Word(at, k))
	}
	return int64(n)
}
