package table

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/flow/profile"
	"github.com/volley-go/volley/flow/stats"
)

// scanNode reads a source.
type scanNode struct {
	source    Source
	out       *arrow.Schema
	all       bool // every column of the source
	predicate *expr.Expr
	limit     int64
	exact     bool                            // the source gives just the rows that pass the predicate
	filter    *filterNode                     // that the source does: out has its columns, and rows are those that pass; or nil
	stated    func() map[string]*stats.Column // what the source states, nil for nothing
	keys      []keyTest                       // of joins, whose bounds the source is given
}

func (n *scanNode) resolve(ctx context.Context) (node, error) {
	schema, err := n.source.Schema(ctx)
	if err == nil {
		err = uniqueNames(schema)
	}
	if err != nil {
		if strings.HasPrefix(err.Error(), n.source.Name()+": ") {
			return nil, err // it names the file itself
		}
		return nil, wrapError(n.source.Name(), err)
	}
	stated := sync.OnceValue(func() map[string]*stats.Column { return statedBy(ctx, n.source, schema) })
	return &scanNode{source: n.source, out: schema, all: true, stated: stated}, nil
}

func (n *scanNode) schema() *arrow.Schema  { return n.out }
func (n *scanNode) inputs() []node         { return nil }
func (n *scanNode) withInputs([]node) node { return n }

func (n *scanNode) text() string {
	s := "scan " + n.source.Name()
	if !n.all {
		s += " columns [" + strings.Join(fieldNames(n.out), ", ") + "]"
	}
	if n.predicate != nil {
		s += " where " + n.predicate.String()
	}
	if n.limit > 0 {
		s += fmt.Sprintf(" limit %d", n.limit)
	}
	if len(n.keys) > 0 {
		s += ", bounds of " + testTexts(n.keys)
	}
	return s
}

// push gives the conditions to the source, which may use them to skip, and
// keeps them above.
func (n *scanNode) push(conds []*expr.Expr) node {
	out := *n
	out.predicate = expr.AllOf(conds...)
	return keep(&out, conds)
}

func (n *scanNode) prune(need names) node {
	out := *n
	out.out = subset(n.out, need.among(n.out))
	out.all = n.all && out.out.NumFields() == n.out.NumFields()
	return &out
}

// filtered is the scan that does a filter above it, where the source can, with the filter of keys
// that is left; nil where it cannot.
func (n *scanNode) filtered(f *filterNode, r *runner) (*scanNode, *filterNode) {
	if !r.splits() || f.in != node(n) || f.predicate == nil || !expr.Equal(f.predicate, n.predicate) || !n.filters(n.predicate) {
		return nil, nil
	}
	out := *n
	out.exact = true
	r.prof.same(&out, n)
	if len(f.keys) > 0 {
		left := *f
		left.in, left.predicate = &out, nil
		r.prof.same(&left, f)
		return &out, &left
	}
	out.filter, out.out = f, f.out
	out.all = n.all && f.out.NumFields() == n.out.NumFields()
	return &out, nil
}

// filters reports whether the source can give just the rows that pass a condition.
func (n *scanNode) filters(cond *expr.Expr) bool {
	source, ok := n.source.(flow.SplitSource)
	return ok && cond != nil && source.Filters(cond)
}

// splits reports whether workers read the parts of sources.
func (r *runner) splits() bool { return r.backend != nil && r.onHost() }

func (n *scanNode) compile(r *runner) (exec.Source, error) {
	if n.filter != nil {
		r.with(n.filter)
	}
	o := ScanOptions{Limit: n.limit}
	if !n.all {
		o.Columns = fieldNames(n.out)
	}
	if r.morsel != exec.MorselRows {
		o.BatchRows = r.morsel
	}
	return &scanOp{r: r, node: n, options: o}, nil
}

// scanOp reads a source, which is opened when its first rows are asked for.
type scanOp struct {
	r       *runner
	node    *scanNode
	options ScanOptions
	reader  BatchReader
	splits  flow.Splits // in place of reader, where workers read parts
}

// scanOf is the scan that a source is, or nil.
func scanOf(s exec.Source) *scanOp {
	if m, ok := s.(*measuredSource); ok {
		s = m.Source
	}
	o, _ := s.(*scanOp)
	return o
}

// opened are the options with the conditions that are known when the source is opened: the keys of
// joins and their bounds too. Rows that these leave out no join would keep.
func (o *scanOp) opened() ScanOptions {
	n, out := o.node, o.options
	out.Predicate = n.condition(o.r)
	out.Exact = n.predicate != nil && o.r.splits() && n.filters(out.Predicate)
	if n.exact && !out.Exact { // no filter above does what the plan says
		out.Predicate, out.Exact = n.predicate, true
	}
	for _, t := range n.keys {
		if k := o.r.keys.get(t.of); k != nil {
			out.Keys = append(out.Keys, flow.KeyTest{Column: t.column, Keys: k})
		}
	}
	return out
}

// divided reports whether workers read the parts of the source.
func (o *scanOp) divided() bool {
	_, ok := o.node.source.(flow.SplitSource)
	return ok && o.r.splits()
}

func (o *scanOp) Next(ctx context.Context) (*Batch, error) {
	if o.reader == nil {
		reader, err := o.node.source.Scan(ctx, o.r.backend, o.opened())
		if err != nil {
			return nil, wrapError("scan", err)
		}
		o.reader = reader
	}
	return o.some(ctx, o.reader.Next)
}

// some is the next batch that has rows.
func (o *scanOp) some(ctx context.Context, next func(context.Context) (*Batch, error)) (*Batch, error) {
	for {
		b, err := next(ctx)
		if err == io.EOF || err == nil && b.Len() > 0 {
			return o.checked(ctx, b, err)
		}
		b.Release()
		if err != nil {
			return nil, wrapError("scan", err)
		}
		if err := device.Canceled(ctx, o.r.backend.Device.Name(), "scan"); err != nil {
			return nil, err
		}
	}
}

// split is the next part of the source.
func (o *scanOp) split(ctx context.Context) (flow.Split, error) {
	if o.splits == nil {
		splits, err := o.node.source.(flow.SplitSource).Splits(ctx, o.r.backend, o.opened())
		if err != nil {
			return nil, wrapError("scan", err)
		}
		o.splits = splits
	}
	s, err := o.splits.Next(ctx)
	if err != nil && err != io.EOF {
		err = wrapError("scan", err)
	}
	return s, err
}

// scanSource is a scan whose parts the workers of a pipeline read.
type scanSource struct {
	exec.Source
	scan *scanOp
	step int // of the profile; -1 without one
}

// sourceOf is a source as a pipeline reads it: by parts, where it has some.
func sourceOf(s exec.Source) exec.Source {
	o := scanOf(s)
	if o == nil || !o.divided() || o.reader != nil {
		return s
	}
	out := &scanSource{Source: s, scan: o, step: -1}
	if m, ok := s.(*measuredSource); ok {
		out.step = m.step
	}
	return out
}

// Split is the next part.
func (s *scanSource) Split(ctx context.Context) (exec.Source, error) {
	part, err := s.scan.split(ctx)
	if err != nil {
		return nil, err
	}
	return &scanSplit{s, part}, nil
}

// scanSplit is a part of a scan.
type scanSplit struct {
	of   *scanSource
	part flow.Split
}

func (s *scanSplit) Next(ctx context.Context) (*Batch, error) {
	b, err := s.of.scan.some(ctx, s.part.Next)
	if err == nil && s.of.step >= 0 {
		profile.Of(ctx).Out(s.of.step, b.Len(), b.Size())
	}
	return b, err
}

func (s *scanSplit) Close() { s.part.Close() }

// checked holds what a source gave against what it promised.
func (o *scanOp) checked(ctx context.Context, b *Batch, err error) (*Batch, error) {
	if err != nil {
		return nil, err
	}
	device.ProgressOf(ctx).Read(b.Len())
	want := o.node.out
	ok := b.Schema().NumFields() == want.NumFields()
	for i := 0; ok && i < want.NumFields(); i++ {
		ok = b.Schema().Field(i).Name == want.Field(i).Name && arrow.TypeEqual(b.Schema().Field(i).Type, want.Field(i).Type)
	}
	if !ok {
		defer b.Release()
		return nil, fmt.Errorf("%w: %s gave columns %s, not %s", device.ErrMismatch, o.node.source.Name(), fieldTexts(b.Schema()), fieldTexts(want))
	}
	return b, nil
}

// fieldTexts lists names and types.
func fieldTexts(s *arrow.Schema) string {
	parts := make([]string, s.NumFields())
	for i, f := range s.Fields() {
		parts[i] = f.Name + " " + expr.TypeName(f.Type)
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func (o *scanOp) Close() {
	if o.reader != nil {
		_ = o.reader.Close() // what there was to say, Next has said
	}
	if o.splits != nil {
		_ = o.splits.Close()
	}
}

// tableNode gives the chunks of a table.
type tableNode struct {
	table *Table
	out   *arrow.Schema
}

func (n *tableNode) resolve(context.Context) (node, error) {
	if n.table.refs.Load() <= 0 {
		return nil, fmt.Errorf("%w: a query over a table that was released", device.ErrClosed)
	}
	return n, nil
}

func (n *tableNode) schema() *arrow.Schema        { return n.out }
func (n *tableNode) inputs() []node               { return nil }
func (n *tableNode) withInputs([]node) node       { return n }
func (n *tableNode) push(conds []*expr.Expr) node { return keep(n, conds) }

func (n *tableNode) text() string {
	return fmt.Sprintf("table of %d rows in %d chunks, columns [%s]", n.table.rows, len(n.table.chunks), strings.Join(fieldNames(n.out), ", "))
}

func (n *tableNode) prune(need names) node {
	list := need.among(n.out)
	if len(list) == n.out.NumFields() {
		return n
	}
	return &tableNode{table: n.table, out: subset(n.out, list)}
}

func (n *tableNode) compile(*runner) (exec.Source, error) {
	return &tableOp{node: n, table: n.table.Retain()}, nil
}

type tableOp struct {
	node  *tableNode
	table *Table
	at    int
}

func (o *tableOp) Next(ctx context.Context) (*Batch, error) {
	progress := device.ProgressOf(ctx)
	if o.at == 0 {
		progress.Expect(o.table.NumRows())
	}
	if o.at >= len(o.table.chunks) {
		return nil, io.EOF
	}
	o.at++
	b := o.table.chunks[o.at-1]
	progress.Read(b.Len())
	if b.Schema() != o.node.out && o.node.out.NumFields() == b.Schema().NumFields() {
		return b.Retain(), nil
	}
	return project(b, o.node.out)
}

func (o *tableOp) Close() { o.table.Release() }
