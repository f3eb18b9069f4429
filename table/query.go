package table

import (
	"fmt"
	"maps"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// Query is a plan over tables and sources. It is immutable: every method gives
// a new one, and nothing is read before Collect, Batches, Describe or Explain.
// The first error made in a chain is kept, and returned there. The tables of a
// plan must stay alive until it has run.
type Query struct {
	plan    node
	backend *kernels.Backend
	tables  bool // the plan reads tables, which tie it to their backend
	err     error
}

// Relation is what a query can be joined or united with: a *Table or a *Query.
type Relation interface {
	// Query is a query of all its rows and columns.
	Query() *Query
}

// From is a query of all rows and columns of a table.
func From(t *Table) *Query { return t.Query() }

// Query is a query of all rows and columns of the table.
func (t *Table) Query() *Query {
	return &Query{plan: &tableNode{table: t, out: t.schema}, backend: t.backend, tables: true}
}

// Query gives q itself, so that it is a Relation.
func (q *Query) Query() *Query { return q }

// Scan is a query of all rows and columns of a source. Say with On where it
// runs, unless it is joined to a table, whose backend it then takes.
func Scan(s Source) *Query { return &Query{plan: &scanNode{source: s}} }

// On runs the query on a backend. Tables of the plan must live there; a query
// over sources alone runs where the last On says.
func (q *Query) On(b *kernels.Backend) *Query {
	next := *q
	if b == nil {
		return q.then(nil, fmt.Errorf("%w: On without a backend", device.ErrMismatch))
	}
	if q.tables && q.backend != b && next.err == nil {
		next.err = fmt.Errorf("%w: On(%s) for a query over a table on %s", device.ErrMismatch, b.Device.Name(), q.backend.Device.Name())
	}
	next.backend = b
	return &next
}

// Backend is where the query runs: that of its tables, or what On said; nil
// where neither says.
func (q *Query) Backend() *kernels.Backend { return q.backend }

// Err is the first error made in the chain so far, or nil.
func (q *Query) Err() error { return q.err }

// then continues the chain with a node, or with an error.
func (q *Query) then(n node, err error) *Query {
	if q.err != nil {
		return q
	}
	return &Query{plan: n, backend: q.backend, tables: q.tables, err: err}
}

// with continues the chain with a node over q and another query.
func (q *Query) with(r Relation, make func(other node) node) *Query {
	if q.err != nil {
		return q
	}
	if r == nil {
		return q.then(nil, fmt.Errorf("%w: no table or query given", device.ErrMismatch))
	}
	other := r.Query()
	next := &Query{backend: q.backend, tables: q.tables || other.tables, err: other.err}
	if next.backend == nil {
		next.backend = other.backend
	}
	if other.backend != nil && other.backend != next.backend && next.err == nil {
		next.err = fmt.Errorf("%w: one side is on %s, the other on %s", device.ErrMismatch, next.backend.Device.Name(), other.backend.Device.Name())
	}
	if next.err == nil {
		next.plan = make(other.plan)
	}
	return next
}

// condition takes an expression or its text.
func condition(v any) (*expr.Expr, error) {
	if text, ok := v.(string); ok {
		return expr.Parse(text)
	}
	return columnOrExpr(v)
}

// Filter keeps the rows for which a condition is true: an *expr.Expr of bool,
// or its text.
func (q *Query) Filter(cond any) *Query {
	e, err := condition(cond)
	if err != nil {
		err = fmt.Errorf("filter: %w", err)
	}
	return q.then(&filterNode{in: q.plan, predicate: e}, err)
}

// Select gives just these columns, in this order: names of columns, and
// expressions, whose name is their alias or text.
func (q *Query) Select(items ...any) *Query {
	var list []named
	for _, it := range items {
		e, err := columnOrExpr(it)
		if err != nil {
			return q.then(nil, fmt.Errorf("select: %w", err))
		}
		list = append(list, named{nameOf(e), e})
	}
	return q.then(&projectNode{in: q.plan, items: list}, nil)
}

// WithColumn adds a column of that name, or replaces it: an expression or its
// text.
func (q *Query) WithColumn(name string, v any) *Query {
	e, err := condition(v)
	if err != nil {
		err = fmt.Errorf("column %q: %w", name, err)
	}
	return q.then(&editNode{in: q.plan, add: []named{{name, e}}}, err)
}

// WithColumns adds columns, or replaces those of their names: expressions, whose
// name is their alias or text. All see the columns as they were:
// WithColumns(Col("a").As("b"), Col("b").As("a")) swaps two.
func (q *Query) WithColumns(items ...any) *Query {
	var list []named
	for _, it := range items {
		e, err := columnOrExpr(it)
		if err != nil {
			return q.then(nil, fmt.Errorf("with columns: %w", err))
		}
		list = append(list, named{nameOf(e), e})
	}
	return q.then(&editNode{in: q.plan, add: list}, nil)
}

// WithScalar adds a column of that name, or replaces it, which has in every row the
// one value of another query or table: of one column and at most one row. Without a row it is null; two
// rows are an error. The other is run before anything of q, and conditions with the column
// are pushed down as those with a constant are. A dictionary's value is of its plain type.
func (q *Query) WithScalar(name string, other Relation) *Query {
	return q.with(other, func(one node) node { return &scalarNode{in: q.plan, one: one, name: name} })
}

// Rename gives a column another name.
func (q *Query) Rename(from, to string) *Query { return q.RenameColumns(map[string]string{from: to}) }

// RenameColumns gives columns other names, all at once: {"a": "b", "b": "a"} swaps
// two.
func (q *Query) RenameColumns(to map[string]string) *Query {
	return q.then(&editNode{in: q.plan, rename: maps.Clone(to)}, nil)
}

// Drop leaves out columns.
func (q *Query) Drop(names ...string) *Query {
	return q.then(&editNode{in: q.plan, drop: names}, nil)
}

// Join matches rows with those of another table or query. Columns of the right
// side whose name is taken get a suffix. Rows come in left order and then right
// order.
func (q *Query) Join(other Relation, kind Kind, options ...JoinOption) *Query {
	o := joinOptions{suffix: "_right"}
	for _, f := range options {
		f(&o)
	}
	if kind < Inner || kind > Cross {
		return q.then(nil, fmt.Errorf("%w: %s", device.ErrUnsupported, kind))
	}
	if (len(o.keys) == 0) != (kind == Cross) {
		return q.then(nil, fmt.Errorf("%w: a %s join on %d keys: all kinds but cross need keys, cross takes none", device.ErrMismatch, kind, len(o.keys)))
	}
	if o.whereErr != nil {
		return q.then(nil, fmt.Errorf("join: where: %w", o.whereErr))
	}
	if o.where != nil && !kind.takesWhere() {
		return q.then(nil, fmt.Errorf("%w: a %s join with Where: inner, left, semi and anti joins take a condition; of a cross join a Filter does the same", device.ErrUnsupported, kind))
	}
	return q.with(other, func(right node) node {
		return &joinNode{left: q.plan, right: right, kind: kind, joinOptions: o}
	})
}

// Sort orders the rows. It is stable.
func (q *Query) Sort(keys ...Order) *Query {
	for _, k := range keys {
		if k.err != nil {
			return q.then(nil, fmt.Errorf("sort: %w", k.err))
		}
	}
	if len(keys) == 0 {
		return q.then(nil, fmt.Errorf("%w: sort without a key", device.ErrMismatch))
	}
	return q.then(&sortNode{in: q.plan, keys: keys, limit: -1}, nil)
}

// TopK is Sort and then Head.
func (q *Query) TopK(k int64, keys ...Order) *Query { return q.Sort(keys...).Head(k) }

// Head is the first n rows, fewer if there are fewer.
func (q *Query) Head(n int64) *Query { return q.Slice(0, n) }

// Limit is Head.
func (q *Query) Limit(n int64) *Query { return q.Head(n) }

// Slice is n rows from offset, fewer if there are fewer.
func (q *Query) Slice(offset, n int64) *Query {
	if offset < 0 || n < 0 {
		return q.then(nil, fmt.Errorf("%w: %d rows from row %d", device.ErrMismatch, n, offset))
	}
	return q.then(&limitNode{in: q.plan, offset: offset, n: n}, nil)
}

// Union is the rows of q and then those of the others, doubles and all. They
// must have the columns of q, in any order.
func (q *Query) Union(others ...Relation) *Query {
	all := &unionNode{ins: []node{q.plan}} // one of all, not each in the next
	for _, r := range others {
		q = q.with(r, func(other node) node {
			all.ins = append(all.ins, other)
			return all
		})
	}
	return q
}

// Distinct keeps the first of rows that are equal in the named columns, in all
// if none is named. Nulls are equal, and NaNs.
func (q *Query) Distinct(columns ...string) *Query {
	return q.then(&distinctNode{in: q.plan, on: columns}, nil)
}
