package distributed

import (
	"context"
	"fmt"
	"slices"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
)

// Head is the first n rows, fewer if there are fewer. No row moves: they stay on their ranks.
func (d *Table) Head(ctx context.Context, n int64) (*Table, error) { return d.cut(ctx, "Head", 0, n) }

// Tail is the last n rows, fewer if there are fewer. No row moves.
func (d *Table) Tail(ctx context.Context, n int64) (*Table, error) {
	return d.cut(ctx, "Tail", max(0, d.NumRows()-max(n, 0)), n)
}

// Slice is n rows from an offset, fewer if there are fewer, counted over all ranks. No row
// moves.
func (d *Table) Slice(ctx context.Context, offset, n int64) (*Table, error) {
	return d.cut(ctx, "Slice", offset, n)
}

// cut is the rows that this rank has of n from an offset.
func (d *Table) cut(ctx context.Context, call string, offset, n int64) (*Table, error) {
	o := d.start(ctx, call, fmt.Sprintf("%d rows from row %d", n, offset))
	part := o.table(func() (*table.Table, error) {
		if offset < 0 || n < 0 {
			return nil, fmt.Errorf("%w: %d rows from row %d", device.ErrMismatch, n, offset)
		}
		first := int64(0) // of this part
		if d.by.Scheme != Replicated {
			first = d.before()
		}
		end := offset + min(n, 1<<63-1-offset)
		from, to := max(offset, first), min(end, first+d.part.NumRows())
		return sliced(d.part, from-first, max(to, from)-first)
	})
	defer part.Release()
	return o.finish(part, d.by)
}

// WithRowNumber is the table with a column of int64 behind the others: first for the first row
// of all ranks, and one more for each. No row moves.
func (d *Table) WithRowNumber(ctx context.Context, name string, first int64) (*Table, error) {
	o := d.start(ctx, "WithRowNumber", fmt.Sprintf("%q from %d", name, first))
	made := o.table(func() (*table.Table, error) {
		if d.by.Scheme == Replicated {
			return d.part.WithRowNumber(ctx, name, first)
		}
		if first > 0 && first > 1<<63-1-d.NumRows() {
			return nil, fmt.Errorf("%w: the last of %d rows from %d has no number of 64 bits", device.ErrMismatch, d.NumRows(), first)
		}
		return d.part.WithRowNumber(ctx, name, first+d.before())
	})
	defer made.Release()
	return o.finish(made, d.by)
}

// Filter keeps the rows for which a condition is true, as table.Query.Filter does. No row
// moves, and the order stays.
func (d *Table) Filter(ctx context.Context, cond any) (*Table, error) {
	return d.each(ctx, "Filter", fmt.Sprint(cond), d.by, func(q *table.Query) *table.Query { return q.Filter(cond) })
}

// Select gives just these columns, in this order, as table.Query.Select does. No row moves.
func (d *Table) Select(ctx context.Context, items ...any) (*Table, error) {
	by := d.by
	for _, k := range d.by.Keys {
		if !slices.ContainsFunc(items, func(item any) bool { return isColumn(item, k) }) {
			by = by.without()
		}
	}
	return d.each(ctx, "Select", fmt.Sprint(items...), by, func(q *table.Query) *table.Query { return q.Select(items...) })
}

// WithColumn adds a column of that name, or replaces it, as table.Query.WithColumn does. No row
// moves.
func (d *Table) WithColumn(ctx context.Context, name string, v any) (*Table, error) {
	by := d.by
	if slices.Contains(by.Keys, name) {
		by = by.without()
	}
	return d.each(ctx, "WithColumn", fmt.Sprint(name, " ", v), by, func(q *table.Query) *table.Query { return q.WithColumn(name, v) })
}

// WithColumns adds columns, or replaces those of their names, as table.Query.WithColumns does. No
// row moves.
func (d *Table) WithColumns(ctx context.Context, items ...any) (*Table, error) {
	by := d.by
	for _, item := range items {
		if e, ok := item.(*expr.Expr); ok && slices.Contains(by.Keys, exprName(e)) {
			by = by.without()
		}
	}
	return d.each(ctx, "WithColumns", fmt.Sprint(items...), by, func(q *table.Query) *table.Query { return q.WithColumns(items...) })
}

// Rename gives a column another name. No row moves.
func (d *Table) Rename(ctx context.Context, from, to string) (*Table, error) {
	return d.RenameColumns(ctx, map[string]string{from: to})
}

// RenameColumns gives columns other names, all at once. No row moves.
func (d *Table) RenameColumns(ctx context.Context, to map[string]string) (*Table, error) {
	by := d.by
	for _, k := range d.by.Keys {
		if _, is := to[k]; is {
			by = by.without()
		}
	}
	return d.each(ctx, "Rename", fmt.Sprint(to), by, func(q *table.Query) *table.Query { return q.RenameColumns(to) })
}

// Drop leaves out columns. No row moves.
func (d *Table) Drop(ctx context.Context, names ...string) (*Table, error) {
	return d.each(ctx, "Drop", fmt.Sprintf("%q", names), d.by, func(q *table.Query) *table.Query { return q.Drop(names...) })
}

// each is what a query makes of every rank's part, row by row.
func (d *Table) each(ctx context.Context, call, args string, by Partitioning, f func(*table.Query) *table.Query) (*Table, error) {
	o := d.start(ctx, call, args)
	made := o.table(func() (*table.Table, error) { return f(d.part.Query()).Collect(ctx) })
	defer made.Release()
	return o.finish(made, by)
}

// isColumn reports whether an item of Select is a column as it is.
func isColumn(item any, name string) bool {
	switch v := item.(type) {
	case string:
		return v == name
	case *expr.Expr:
		return v.Kind() == expr.KindColumn && v.Name() == name
	}
	return false
}

// without is what is known of the rows when a key has got other values or another name.
func (p Partitioning) without() Partitioning {
	if p.Scheme == Replicated {
		return Partitioning{Scheme: Replicated}
	}
	return Partitioning{}
}

// Union is the rows of the table and those of the others, doubles and all. They must have the
// columns of d, in any order. No row moves, so the order is new: on each rank the rows of d's
// part, and then those of the others'.
func (d *Table) Union(ctx context.Context, others ...*Table) (*Table, error) {
	o := d.start(ctx, "Union", fmt.Sprintf("of %d tables", len(others)+1))
	parts := make([]*table.Table, 0, len(others)+1)
	defer func() { release(parts) }()
	for i, t := range append([]*Table{d}, others...) {
		o.do(func() error {
			if t == nil {
				return fmt.Errorf("%w: table %d is nil", device.ErrMismatch, i)
			}
			if t.comm != d.comm {
				return fmt.Errorf("%w: table %d is on another Comm", device.ErrMismatch, i)
			}
			return nil
		})
		if o.going() {
			parts = append(parts, o.once(t))
		}
	}
	made := o.table(func() (*table.Table, error) {
		q := parts[0].Query()
		var more []table.Relation
		for _, p := range parts[1:] {
			more = append(more, p)
		}
		return q.Union(more...).Collect(ctx)
	})
	defer made.Release()
	return o.finish(made, Partitioning{})
}

func release(all []*table.Table) {
	for _, t := range all {
		t.Release()
	}
}
