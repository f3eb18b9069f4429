package table

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	f := &filterStep{r: r, n: n}
	if n.predicate != nil {
		var err error
		if f.cond, err = r.conditionsOf(n.predicate, n.in.schema()); err != nil {
			return nil, err
		}
	}
	f.stepFunc = stepFunc{prepare: func(ctx context.Context) error { return wrapError("filter", f.cond.prepare(ctx, r)) }, execute: f.apply, release: f.cond.release}
	return f, nil
}

// filterStep is a filter at work. What comes next may take rows with their mask.
type filterStep struct {
	stepFunc
	r        *runner
	n        *filterNode
	cond     *conditions   // nil where there are only keys
	selected *arrow.Schema // of rows with their mask; nil where what is next takes rows alone
}

func (f *filterStep) apply(ctx context.Context, b *Batch) (out *Batch, err error) {
	n, r := f.n, f.r
	switch {
	case n.masked != nil && r.early(b.Len()):
		out, err = r.masked(ctx, b, f.cond, n)
	case f.selected != nil:
		out, err = f.withMask(ctx, b)
	default:
		out, err = r.filter(ctx, b, f.cond, r.setsOf(b, n.keys), n.out)
	}
	return out, wrapError("filter", err)
}

// withMask is the rows of a batch with the mask of those that stay, or all where all do.
func (f *filterStep) withMask(ctx context.Context, b *Batch) (*Batch, error) {
	sets := f.r.setsOf(b, f.n.keys)
	if f.cond == nil && len(sets) == 0 {
		return project(b, f.n.out)
	}
	mask, err := f.r.mask(ctx, b, f.cond, sets)
	if err != nil {
		return nil, err
	}
	switch countTrue(mask) {
	case 0:
		mask.Release()
		return f.r.empty(ctx, f.n.out)
	case b.Len():
		mask.Release()
		return project(b, f.n.out)
	}
	columns := pick(b, fieldNames(f.n.out))
	for _, c := range columns {
		c.Retain()
	}
	return NewBatch(f.selected, b.Len(), append(columns, mask))
}

// conditions are those of a filter, bound and made ready: all as one, and on the host those of each
// stage, whose conditions are computed for the rows that the stages before let through.
type conditions struct {
	whole  stage
	stages []stage // nil where one stage is all
}

type stage struct {
	bound *expr.Bound
	ready *expr.Prepared
}

func (r *runner) conditionsOf(e *expr.Expr, in *arrow.Schema) (*conditions, error) {
	bound, err := e.Bind(in)
	if err != nil {
		return nil, err
	}
	c := &conditions{whole: stage{bound: bound}}
	if r.backend == nil || !r.onHost() {
		return c, nil
	}
	for _, s := range staged(e, in) {
		if bound, err = s.Bind(in); err != nil {
			return nil, err
		}
		c.stages = append(c.stages, stage{bound: bound})
	}
	return c, nil
}

// staged are the stages of a condition, nil where there is one: what reads values of one width is one
// pass, then come conditions on texts one by one, those that look for a part of a text last. What may
// refuse a row stays whole.
func staged(e *expr.Expr, in *arrow.Schema) []*expr.Expr {
	var by [3][]*expr.Expr
	for _, c := range expr.Conjuncts(e) {
		if mayFail(c) {
			return nil
		}
		k := 0
		for _, name := range expr.Columns(c) {
			if i := in.FieldIndices(name); len(i) > 0 && memory.LayoutOf(in.Field(i[0]).Type) != memory.LayoutFixed && in.Field(i[0]).Type.ID() != arrow.BOOL {
				k = 1
			}
		}
		if k > 0 && looksInside(c) {
			k = 2
		}
		by[k] = append(by[k], c)
	}
	var stages []*expr.Expr
	if len(by[0]) > 0 {
		stages = append(stages, expr.AllOf(by[0]...))
	}
	if stages = append(append(stages, by[1]...), by[2]...); len(stages) < 2 {
		return nil
	}
	return stages
}

// looksInside reports whether an expression looks for a part of a text.
func looksInside(e *expr.Expr) bool {
	op := e.Op()
	return e.Kind() == expr.KindCall && op >= expr.OpContains && op <= expr.OpSubstring || slices.ContainsFunc(e.Args(), looksInside)
}

func (c *conditions) prepare(ctx context.Context, r *runner) (err error) {
	if c == nil {
		return nil
	}
	if c.whole.ready, err = c.whole.bound.Prepare(ctx, r.backend, r.stream); err != nil {
		return err
	}
	for i := range c.stages {
		if c.stages[i].ready, err = c.stages[i].bound.Prepare(ctx, r.backend, r.stream); err != nil {
			return err
		}
	}
	return nil
}

func (c *conditions) release() {
	if c == nil {
		return
	}
	c.whole.ready.Release()
	for _, s := range c.stages {
		s.ready.Release()
	}
}

// mask is where the conditions are true of the rows of a batch.
func (c *conditions) mask(ctx context.Context, r *runner, b *Batch) (*memory.Column, error) {
	if c.stages != nil {
		mask, err := c.inStages(ctx, r, b)
		if !errors.Is(err, device.ErrValue) {
			return mask, err
		}
		// A row was refused: the whole counts rows from the first of the batch.
	}
	masks, err := c.whole.ready.EvalAll(ctx, b.Len(), b.Columns())
	if err != nil {
		return nil, err
	}
	return masks[0], nil
}

// stageShare is the share of rows up to which their values are gathered for the next stage. Of
// more rows all are computed.
const stageShare = 0.5

func (c *conditions) inStages(ctx context.Context, r *runner, b *Batch) (mask *memory.Column, err error) {
	for _, s := range c.stages {
		before := mask
		switch kept := countOrAll(before, b.Len()); {
		case before != nil && kept == 0:
			return before, nil
		case before != nil && float64(kept) <= stageShare*float64(b.Len()):
			mask, err = s.among(ctx, r, b, before, kept)
		default:
			mask, err = s.of(ctx, b.Len(), b.Columns())
			if err == nil && before != nil {
				own := mask
				mask, err = r.backend.Logic(ctx, r.stream, kernels.And, before, own)
				own.Release()
			}
		}
		before.Release()
		if err != nil {
			return nil, err
		}
	}
	return mask, nil
}

// countOrAll is the number of true rows of a mask, of all where there is none.
func countOrAll(mask *memory.Column, rows int64) int64 {
	if mask == nil {
		return rows
	}
	return countTrue(mask)
}

func (c stage) of(ctx context.Context, rows int64, columns []*memory.Column) (*memory.Column, error) {
	masks, err := c.ready.EvalAll(ctx, rows, columns)
	if err != nil {
		return nil, err
	}
	return masks[0], nil
}

// among is the mask of the rows for which the condition is true too, of those that a mask has.
func (c stage) among(ctx context.Context, r *runner, b *Batch, mask *memory.Column, kept int64) (*memory.Column, error) {
	columns, err := r.selectedOf(ctx, b, mask, c.bound)
	if err != nil {
		return nil, err
	}
	defer releaseColumns(columns)
	own, err := c.of(ctx, kept, columns)
	if err != nil {
		return nil, err
	}
	defer own.Release()
	return exec.Among(r.backend.Device.Memory(), mask, own)
}

// selectedOf are the columns of a batch that an expression reads, in their places: the rows that a mask has.
func (r *runner) selectedOf(ctx context.Context, b *Batch, mask *memory.Column, of *expr.Bound) ([]*memory.Column, error) {
	columns := make([]*memory.Column, b.NumColumns())
	for _, i := range of.Reads() {
		var err error
		if columns[i], err = r.backend.Filter(ctx, r.stream, b.Column(i), mask, kernels.FilterOptions{}); err != nil {
			releaseColumns(columns)
			return nil, err
		}
	}
	return columns, nil
}

// filter is the rows of a batch for which the condition, if there is one, is true, and whose keys
// are in the sets, cut to the columns of schema. Where all rows stay nothing is copied.
func (r *runner) filter(ctx context.Context, b *Batch, cond *conditions, sets []setTest, schema *arrow.Schema) (*Batch, error) {
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
func (r *runner) mask(ctx context.Context, b *Batch, cond *conditions, sets []setTest) (*memory.Column, error) {
	if cond == nil {
		return r.testedMask(nil, b.Len(), sets)
	}
	mask, err := cond.mask(ctx, r, b)
	if err != nil || len(sets) == 0 {
		return mask, err
	}
	defer mask.Release()
	return r.testedMask(mask, b.Len(), sets)
}

// filterWhere is filter in one pass, where the backend has it. A row that the
// condition refuses is left to filter, whose errors count rows from the first.
func (r *runner) filterWhere(ctx context.Context, b *Batch, cond *conditions, schema *arrow.Schema) (out *Batch, done bool, err error) {
	if r.backend.Set.FilterWhere.Func == nil || schema.NumFields() == 0 {
		return nil, false, nil
	}
	columns, done, err := r.backend.FilterWhere(ctx, r.stream, pick(b, fieldNames(schema)), func(ctx context.Context, from, n int64) (*memory.Column, error) {
		some, err := b.Slice(from, n)
		if err != nil {
			return nil, err
		}
		defer some.Release()
		return cond.mask(ctx, r, some)
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
func countTrue(mask *memory.Column) int64 { return exec.CountTrue(mask) }
