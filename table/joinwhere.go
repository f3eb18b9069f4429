package table

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// resolveWhere finds the columns that the condition of a join reads.
func (n *joinNode) resolveWhere() error {
	kind := n.kind
	if kind.leftOnly() {
		kind = Inner // its names are those that the condition has
	}
	outputs, fields, err := n.joined(kind)
	if err != nil {
		return err
	}
	b, err := n.where.Bind(arrow.NewSchema(fields, nil))
	if err == nil && b.Type().ID() != arrow.BOOL {
		err = fmt.Errorf("%w: %s is of type %s, not bool", errMismatch, n.where, expr.TypeName(b.Type()))
	}
	if err != nil {
		return wrapError("where", err)
	}
	n.scoped = arrow.NewSchema(fields, nil)
	n.scope = outputs
	n.cutScope()
	return nil
}

// cutScope leaves out columns that the condition does not read.
func (n *joinNode) cutScope() {
	read := namesOf(expr.Columns(n.where))
	n.scope = slices.DeleteFunc(slices.Clone(n.scope), func(o joinOutput) bool { return !read[o.name] })
	n.scoped = subset(n.scoped, read.among(n.scoped))
}

// pushWhere is the node without those parts of its condition that one side can be asked for before
// the join: that a right row meets it, and in a semi join a left one. A left row that
// fails is given out by a left and an anti join.
func (n *joinNode) pushWhere() (out *joinNode, toLeft, toRight []*expr.Expr) {
	copied := *n
	out = &copied
	if n.where == nil {
		return out, nil, nil
	}
	left, right := map[string]*expr.Expr{}, map[string]*expr.Expr{}
	leftNames, rightNames := names{}, names{}
	for _, o := range n.scope {
		if o.onLeft() {
			left[o.name], leftNames[o.name] = expr.Col(o.left), n.kind == Semi
		} else {
			right[o.name], rightNames[o.name] = expr.Col(o.right), true
		}
	}
	may, stay := split(expr.Conjuncts(n.where), func(c *expr.Expr) bool { return !mayFail(c) })
	toLeft, may = split(may, func(c *expr.Expr) bool { return reads(c, leftNames) })
	toRight, may = split(may, func(c *expr.Expr) bool { return reads(c, rightNames) })
	for i, c := range toLeft {
		toLeft[i] = expr.Rewrite(c, func(name string) *expr.Expr { return left[name] })
	}
	for i, c := range toRight {
		toRight[i] = expr.Rewrite(c, func(name string) *expr.Expr { return right[name] })
	}
	if out.where = expr.AllOf(append(may, stay...)...); out.where == nil {
		out.scope, out.scoped = nil, nil
		return out, toLeft, toRight
	}
	out.cutScope()
	return out, toLeft, toRight
}

// matched are the pairs of the result: of those with equal keys the ones that meet
// the condition, and what the kind of join makes of them.
func (o *probeStep) matched(ctx context.Context, b *Batch, pairs *kernels.Pairs) (*kernels.Pairs, error) {
	met, err := o.meet(ctx, b, pairs)
	if err != nil {
		return nil, err
	}
	defer met.Release()
	left, err := o.r.backend.OnHost(ctx, o.r.stream, met.Left)
	if err != nil {
		return nil, err
	}
	defer left.Release()
	found := make(memory.Bitmap, memory.BitmapBytes(b.Len()))
	mark(found, left)
	if o.node.kind == Left {
		return o.withMissed(ctx, b.Len(), found, left, met.Right)
	}
	var rows []int64
	for i := range b.Len() {
		if found.Get(i) == (o.node.kind == Semi) {
			rows = append(rows, i)
		}
	}
	out := &kernels.Pairs{}
	out.Left, err = o.r.rowNumbers(ctx, rows, b.Len())
	return out, err
}

// meet are the pairs for which the condition is true.
func (o *probeStep) meet(ctx context.Context, b *Batch, pairs *kernels.Pairs) (*kernels.Pairs, error) {
	var columns []*memory.Column
	defer func() { releaseColumns(columns) }()
	for _, s := range o.node.scope {
		side, name, rows := b, s.left, pairs.Left
		if !s.onLeft() {
			side, name, rows = o.build, s.right, pairs.Right
		}
		c, err := o.r.backend.Take(ctx, o.r.stream, side.ColumnNamed(name), rows, kernels.TakeOptions{Trusted: true})
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	masks, err := o.ready.EvalAll(ctx, pairs.Left.Len(), columns)
	if err != nil {
		return nil, err
	}
	defer releaseColumns(masks)
	out := &kernels.Pairs{}
	if out.Left, err = o.r.backend.Filter(ctx, o.r.stream, pairs.Left, masks[0], kernels.FilterOptions{}); err == nil {
		out.Right, err = o.r.backend.Filter(ctx, o.r.stream, pairs.Right, masks[0], kernels.FilterOptions{})
	}
	if err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// withMissed are the pairs with the left rows that are in none put where they belong: each
// without a right row. Pairs that come in any order are followed by these.
func (o *probeStep) withMissed(ctx context.Context, rows int64, found memory.Bitmap, left, rightRows *memory.Column) (*kernels.Pairs, error) {
	right, err := o.r.backend.OnHost(ctx, o.r.stream, rightRows)
	if err != nil {
		return nil, err
	}
	defer right.Release()
	l, r := rowsIn(left), rowsIn(right)
	if missed := rows - found.Count(0, rows); missed > 0 {
		l, r = slices.Grow(l, int(missed)), slices.Grow(r, int(missed))
		if o.node.anyOrder {
			for i := range rows {
				if !found.Get(i) {
					l, r = append(l, i), append(r, -1)
				}
			}
		} else {
			l, r = mergeMissed(rows, found, l, r)
		}
	}
	out := &kernels.Pairs{}
	if out.Left, err = o.r.rowNumbers(ctx, l, rows); err == nil {
		out.Right, err = o.r.rowNumbers(ctx, r, o.build.Len())
	}
	if err != nil {
		out.Release()
		return nil, err
	}
	return out, nil
}

// mergeMissed puts rows that were not found among pairs in left order, from the
// end, where there is room for them.
func mergeMissed(rows int64, found memory.Bitmap, l, r []int64) (left, right []int64) {
	from := len(l)
	to := from + int(rows-found.Count(0, rows))
	l, r = l[:to], r[:to]
	for i := rows - 1; to > from; i-- {
		if !found.Get(i) {
			to--
			l[to], r[to] = i, -1
			continue
		}
		for from > 0 && l[from-1] == i {
			from, to = from-1, to-1
			l[to], r[to] = l[from], r[from]
		}
	}
	return l, r
}

// rowsIn are the row numbers of a column in host memory that has no nulls.
func rowsIn(c *memory.Column) []int64 {
	all := make([]int64, c.Len())
	if c.Type().ID() == arrow.UINT64 {
		for i, v := range memory.Values[uint64](c) {
			all[i] = int64(v)
		}
		return all
	}
	for i, v := range memory.Values[uint32](c) {
		all[i] = int64(v)
	}
	return all
}

// rowNumbers is a column of row numbers of a table of so many rows; -1 is null.
func (r *runner) rowNumbers(ctx context.Context, rows []int64, of int64) (*memory.Column, error) {
	alloc, t := r.backend.Device.Pinned(), kernels.IndexType(of)
	parts := memory.Parts{Type: t, Len: int64(len(rows)), Buffers: make([]*memory.Buffer, 2), Place: alloc.Place()}
	for _, v := range rows {
		if v < 0 {
			parts.Nulls++
		}
	}
	values, err := memory.NewZeroed(alloc, parts.Len*int64(memory.Width(t)))
	if err != nil {
		return nil, err
	}
	parts.Buffers[1] = values
	var valid memory.Bitmap
	if parts.Nulls > 0 {
		if parts.Buffers[0], err = memory.NewZeroed(alloc, memory.BitmapBytes(parts.Len)); err != nil {
			values.Release()
			return nil, err
		}
		valid = memory.Bitmap(parts.Buffers[0].Bytes())
	}
	for i, v := range rows {
		switch {
		case v < 0:
			continue
		case t.ID() == arrow.UINT64:
			memory.View[uint64](values)[i] = uint64(v)
		default:
			memory.View[uint32](values)[i] = uint32(v)
		}
		if valid != nil {
			valid.Set(int64(i))
		}
	}
	host, err := memory.NewColumn(parts)
	if err != nil {
		return nil, err
	}
	defer host.Release()
	return r.backend.OnDevice(ctx, r.stream, host)
}
