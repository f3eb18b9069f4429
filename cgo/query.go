package main

// #include "base.h"
import "C"

import (
	"context"
	"strings"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/flow/profile"
	"github.com/volley-go/volley/table"
)

// plan is a query with the tables that it reads, which live as long as it does.
type plan struct {
	q      *table.Query
	tables []*table.Table
}

func (p *plan) hold() {
	for _, t := range p.tables {
		t.Retain()
	}
}

func (p *plan) drop() {
	for _, t := range p.tables {
		t.Release()
	}
}

func (*plan) kind() string { return "query" }

// placed is the query where it says that it runs, and on the best device where it reads files alone and does not say.
func (p *plan) placed() (*table.Query, error) {
	if p.q.Backend() != nil {
		return p.q, nil
	}
	b, err := backend(0)
	if err != nil {
		return nil, err
	}
	return p.q.On(b), nil
}

// givePlan hands out a query over the tables of its parts, unless it could not be built.
func givePlan(out *C.uintptr_t, q *table.Query, parts ...*plan) error {
	if err := q.Err(); err != nil {
		return err
	}
	p := &plan{q: q}
	for _, part := range parts {
		p.tables = append(p.tables, part.tables...)
	}
	p.hold()
	*out = register(p)
	return nil
}

// derive makes a query of another one.
func derive(name string, h C.uintptr_t, out *C.uintptr_t, body func(q *table.Query) (*table.Query, error)) C.int32_t {
	return call(name, func() error {
		return with("query", h, func(p *plan) error {
			q, err := body(p.q)
			if err != nil {
				return err
			}
			return givePlan(out, q, p)
		})
	})
}

//export go_volley_query_table
func go_volley_query_table(h C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return withTable("volley_query_table", h, func(t *table.Table) error {
		return givePlan(out, table.From(t), &plan{tables: []*table.Table{t}})
	})
}

//export go_volley_query_on
func go_volley_query_on(h, d C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return derive("volley_query_on", h, out, func(q *table.Query) (*table.Query, error) {
		b, err := backend(d)
		return q.On(b), err
	})
}

//export go_volley_query_filter
func go_volley_query_filter(h, condition C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return derive("volley_query_filter", h, out, func(q *table.Query) (*table.Query, error) {
		o, err := find[*exprObject]("condition", condition)
		if err != nil {
			return nil, err
		}
		return q.Filter(o.e), nil
	})
}

//export go_volley_query_select
func go_volley_query_select(h C.uintptr_t, items *C.uintptr_t, n C.int64_t, out *C.uintptr_t) C.int32_t {
	return derive("volley_query_select", h, out, func(q *table.Query) (*table.Query, error) {
		all, err := expressions("items", items, n)
		if err != nil {
			return nil, err
		}
		return q.Select(anys(all)...), nil
	})
}

// anys is a list as variadic parameters of any take it.
func anys[T any](list []T) []any {
	all := make([]any, len(list))
	for i, v := range list {
		all[i] = v
	}
	return all
}

//export go_volley_query_with_column
func go_volley_query_with_column(h C.uintptr_t, name *C.char, value C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return derive("volley_query_with_column", h, out, func(q *table.Query) (*table.Query, error) {
		n, err := text("name", name)
		if err != nil {
			return nil, err
		}
		o, err := find[*exprObject]("value", value)
		if err != nil {
			return nil, err
		}
		return q.WithColumn(n, o.e), nil
	})
}

//export go_volley_query_with_columns
func go_volley_query_with_columns(h C.uintptr_t, names **C.char, values *C.uintptr_t, n C.int64_t, out *C.uintptr_t) C.int32_t {
	return derive("volley_query_with_columns", h, out, func(q *table.Query) (*table.Query, error) {
		all, err := expressions("values", values, n)
		if err != nil {
			return nil, err
		}
		if names != nil {
			for i, c := range unsafe.Slice(names, len(all)) {
				if c == nil {
					continue
				}
				name, err := text("names", c)
				if err != nil {
					return nil, err
				}
				all[i] = all[i].As(name)
			}
		}
		return q.WithColumns(anys(all)...), nil
	})
}

//export go_volley_query_drop
func go_volley_query_drop(h C.uintptr_t, names **C.char, n C.int64_t, out *C.uintptr_t) C.int32_t {
	return derive("volley_query_drop", h, out, func(q *table.Query) (*table.Query, error) {
		all, err := texts("names", names, n)
		return q.Drop(all...), err
	})
}

//export go_volley_query_rename
func go_volley_query_rename(h C.uintptr_t, from, to *C.char, out *C.uintptr_t) C.int32_t {
	return derive("volley_query_rename", h, out, func(q *table.Query) (*table.Query, error) {
		before, err := text("from", from)
		if err != nil {
			return nil, err
		}
		after, err := text("to", to)
		return q.Rename(before, after), err
	})
}

//export go_volley_query_rename_columns
func go_volley_query_rename_columns(h C.uintptr_t, from, to **C.char, n C.int64_t, out *C.uintptr_t) C.int32_t {
	return derive("volley_query_rename_columns", h, out, func(q *table.Query) (*table.Query, error) {
		before, err := texts("from", from, n)
		if err != nil {
			return nil, err
		}
		after, err := texts("to", to, n)
		if err != nil {
			return nil, err
		}
		names := map[string]string{}
		for i, name := range before {
			if _, twice := names[name]; twice {
				return nil, mismatch("column %q is renamed twice", name)
			}
			names[name] = after[i]
		}
		return q.RenameColumns(names), nil
	})
}

//export go_volley_query_slice
func go_volley_query_slice(h C.uintptr_t, offset, length C.int64_t, out *C.uintptr_t) C.int32_t {
	return derive("volley_query_slice", h, out, func(q *table.Query) (*table.Query, error) {
		if offset < 0 || length < 0 {
			return nil, mismatch("%d rows from row %d", int64(length), int64(offset))
		}
		return q.Slice(int64(offset), int64(length)), nil
	})
}

//export go_volley_query_distinct
func go_volley_query_distinct(h C.uintptr_t, names **C.char, n C.int64_t, out *C.uintptr_t) C.int32_t {
	return derive("volley_query_distinct", h, out, func(q *table.Query) (*table.Query, error) {
		all, err := texts("names", names, n)
		return q.Distinct(all...), err
	})
}

//export go_volley_query_union
func go_volley_query_union(h C.uintptr_t, others *C.uintptr_t, n C.int64_t, out *C.uintptr_t) C.int32_t {
	return call("volley_query_union", func() error {
		return with("query", h, func(p *plan) error {
			all, err := findAll[*plan]("others", others, n)
			defer dropAll(all)
			if err != nil {
				return err
			}
			relations := make([]table.Relation, len(all))
			for i, o := range all {
				relations[i] = o.q
			}
			return givePlan(out, p.q.Union(relations...), append([]*plan{p}, all...)...)
		})
	})
}

//export go_volley_query_collect
func go_volley_query_collect(h, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return collected("volley_query_collect", h, t, out, (*table.Query).Collect)
}

//export go_volley_query_describe
func go_volley_query_describe(h, t C.uintptr_t, out *C.uintptr_t) C.int32_t {
	return collected("volley_query_describe", h, t, out, (*table.Query).Describe)
}

// collected runs a query and hands out the table that it makes.
func collected(name string, h, t C.uintptr_t, out *C.uintptr_t, run func(*table.Query, context.Context) (*table.Table, error)) C.int32_t {
	return long(name, t, func(k *keeper) (work, error) {
		p, err := kept[*plan](k, "query", h)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			q, err := p.placed()
			if err != nil {
				return outcome{}, err
			}
			made, err := run(q, ctx)
			return giveFailable(out, &tableObject{made}, err)
		}, nil
	})
}

//export go_volley_query_explain
func go_volley_query_explain(h, t C.uintptr_t, out **C.char) C.int32_t {
	return explained("volley_query_explain", h, t, out, (*table.Query).Explain)
}

//export go_volley_query_stream
func go_volley_query_stream(h, t C.uintptr_t, out *C.struct_ArrowArrayStream) C.int32_t {
	return call("volley_query_stream", func() error {
		ctx := context.Background()
		if t != 0 {
			o, err := find[*token]("token", t)
			if err != nil {
				return err
			}
			if o.patience != 0 {
				return device.Errorf(device.ErrUnsupported, "", "stream", "a token with patience: a stream is read by calls without one")
			}
			ctx = o.ctx
		}
		return with("query", h, func(p *plan) error {
			s, err := streamQuery(ctx, p)
			if err != nil {
				return err
			}
			return publish(s, out)
		})
	})
}

//export go_volley_query_free
func go_volley_query_free(h C.uintptr_t) C.int32_t { return free[*plan]("volley_query_free", h) }

// profileObject is what a run of a query measured.
type profileObject struct{ p *table.Profile }

func (*profileObject) hold()        {}
func (*profileObject) drop()        {}
func (*profileObject) kind() string { return "profile" }

//export go_volley_query_explain_json
func go_volley_query_explain_json(h, t C.uintptr_t, out **C.char) C.int32_t {
	return explained("volley_query_explain_json", h, t, out, (*table.Query).ExplainJSON)
}

// explained hands out a text of a query.
func explained(name string, h, t C.uintptr_t, out **C.char, text func(*table.Query, context.Context) (string, error)) C.int32_t {
	return long(name, t, func(k *keeper) (work, error) {
		p, err := kept[*plan](k, "query", h)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			q, err := p.placed()
			if err != nil {
				return outcome{}, err
			}
			s, err := text(q, ctx)
			return outcome{commit: func() { *out = C.CString(s) }}, err
		}, nil
	})
}

//export go_volley_query_profile
func go_volley_query_profile(h, t C.uintptr_t, outTable, outProfile *C.uintptr_t) C.int32_t {
	return long("volley_query_profile", t, func(k *keeper) (work, error) {
		p, err := kept[*plan](k, "query", h)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (outcome, error) {
			q, err := p.placed()
			if err != nil {
				return outcome{}, err
			}
			made, measured, err := q.Profile(ctx)
			if err != nil {
				return outcome{}, err
			}
			rows := &tableObject{made}
			return outcome{
				commit: func() {
					*outTable = register(rows)
					*outProfile = register(&profileObject{measured})
				},
				discard: rows.drop,
			}, nil
		}, nil
	})
}

//export go_volley_profile_render
func go_volley_profile_render(h C.uintptr_t, format *C.char, out **C.char) C.int32_t {
	return call("volley_profile_render", func() error {
		return with("profile", h, func(o *profileObject) error {
			name := C.GoString(format)
			text, ok, err := o.p.Render(name)
			if !ok {
				return mismatch("a profile is shown as %s, not as %q", strings.Join(profile.Formats, ", "), name)
			}
			if err != nil {
				return err
			}
			return giveText(out, text)
		})
	})
}

//export go_volley_profile_free
func go_volley_profile_free(h C.uintptr_t) C.int32_t {
	return free[*profileObject]("volley_profile_free", h)
}
