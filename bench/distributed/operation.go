package distributed

import (
	"context"
	"slices"

	"github.com/volley-go/volley/distributed"
	"github.com/volley-go/volley/table"
)

// operation is what is timed: on ranks, and by the local operator on all rows.
type operation struct {
	name    string
	both    bool // it reads both sides, else the left one
	ordered bool // the order of its rows is part of the answer
	alone   bool // it is not raced: peers promise no such order, or have no such operation
	ranks   func(ctx context.Context, left, right *distributed.Table) (*distributed.Table, error)
	local   func(left, right *table.Table) *table.Query
}

var aggregates = []table.Aggregate{table.Sum("a").As("total"), table.Count().As("n")}

// operations in the order in which they are listed and run.
var operations = []*operation{
	{name: "join", both: true,
		ranks: func(ctx context.Context, l, r *distributed.Table) (*distributed.Table, error) {
			return l.Join(ctx, r, table.Inner, table.On("k"), table.AnyOrder())
		},
		local: func(l, r *table.Table) *table.Query {
			return l.Query().Join(r, table.Inner, table.On("k"), table.AnyOrder())
		}},
	{name: "group",
		ranks: func(ctx context.Context, l, _ *distributed.Table) (*distributed.Table, error) {
			return l.GroupBy("k").AnyOrder().Agg(ctx, aggregates...)
		},
		local: func(l, _ *table.Table) *table.Query { return l.Query().GroupBy("k").AnyOrder().Agg(aggregates...) }},
	{name: "group_few",
		ranks: func(ctx context.Context, l, _ *distributed.Table) (*distributed.Table, error) {
			return l.GroupBy("a").AnyOrder().Agg(ctx, table.Sum("k").As("total"), table.Count().As("n"))
		},
		local: func(l, _ *table.Table) *table.Query {
			return l.Query().GroupBy("a").AnyOrder().Agg(table.Sum("k").As("total"), table.Count().As("n"))
		}},
	{name: "group_ordered", ordered: true, alone: true,
		ranks: func(ctx context.Context, l, _ *distributed.Table) (*distributed.Table, error) {
			return l.GroupBy("k").Agg(ctx, aggregates...)
		},
		local: func(l, _ *table.Table) *table.Query { return l.Query().GroupBy("k").Agg(aggregates...) }},
	{name: "sort", ordered: true,
		ranks: func(ctx context.Context, l, _ *distributed.Table) (*distributed.Table, error) {
			return l.Sort(ctx, table.Asc("k"), table.Asc("a"))
		},
		local: func(l, _ *table.Table) *table.Query { return l.Query().Sort(table.Asc("k"), table.Asc("a")) }},
	{name: "distinct",
		ranks: func(ctx context.Context, l, _ *distributed.Table) (*distributed.Table, error) {
			k, err := l.Select(ctx, "k")
			if err != nil {
				return nil, err
			}
			defer k.Release()
			return k.Distinct(ctx)
		},
		local: func(l, _ *table.Table) *table.Query { return l.Query().Select("k").Distinct() }},
	{name: "shuffle", alone: true,
		ranks: func(ctx context.Context, l, _ *distributed.Table) (*distributed.Table, error) {
			return l.Shuffle(ctx, distributed.Hash("k"))
		}},
}

// Names lists the operations.
func Names() []string {
	var names []string
	for _, op := range operations {
		names = append(names, op.name)
	}
	return names
}

// Peers lists the other engines.
func Peers() []string { return []string{"duckdb", "dask", "ray", "modin", "pyspark"} }

func operationNamed(name string) *operation {
	i := slices.IndexFunc(operations, func(op *operation) bool { return op.name == name })
	if i < 0 {
		return nil
	}
	return operations[i]
}
