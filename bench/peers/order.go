package peers

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// orders sort, or find what sorting finds. Rows with equal keys may stand in
// any order among themselves.
var orders = []problem{
	sort("sort", func(n int64) []column {
		return []column{{"k", int64s(anywhere(0, n))}, {"v", float64s(floats(1, n))}}
	}, "k"),
	{
		name: "argsort", columns: []kind{exact}, order: 1,
		inputs: func(n int64) map[string]arrow.RecordBatch {
			return map[string]arrow.RecordBatch{"t": record(column{"k", int64s(anywhere(0, n))})}
		},
		ours: kernel(func(ctx context.Context, b *kernels.Backend, s device.Stream, k *memory.Column) (columnsOutcome, error) {
			rows, err := b.SortIndices(ctx, s, []kernels.SortKey{{Values: k}})
			return columnsOutcome{rows}, err
		}),
	},
	sort("sort_nulls", func(n int64) []column {
		valid, nulls := holes(2, n, 0.3)
		return []column{{"k", fixed(arrow.PrimitiveTypes.Float64, floats(0, n), valid, nulls)}, {"v", int64s(anywhere(1, n))}}
	}, "k"),
	sort("sort_str", func(n int64) []column {
		return []column{{"k", words(0, n)}, {"v", int64s(anywhere(1, n))}}
	}, "k"),
	sort("sort_two", func(n int64) []column {
		return []column{{"k1", int64s(draws(0, n, 1000))}, {"k2", int64s(anywhere(2, n))}, {"v", float64s(floats(1, n))}}
	}, "k1", "k2"),
	{
		name: "topk", columns: []kind{exact, exact}, order: 1,
		inputs: func(n int64) map[string]arrow.RecordBatch {
			return map[string]arrow.RecordBatch{"t": record(column{"k", int64s(anywhere(0, n))}, column{"v", float64s(floats(1, n))})}
		},
		read: func(n int64) int64 { return 8*n + 8*min(n, 100) },
		ours: func(o *onOurs) ([]ourWay, error) {
			return query(table.From(o.tables["t"]).TopK(100, table.Asc("k"))), nil
		},
	},
	{
		name: "distinct", columns: []kind{exact},
		inputs: func(n int64) map[string]arrow.RecordBatch {
			return map[string]arrow.RecordBatch{"t": record(column{"k", int64s(draws(0, n, groups))})}
		},
		ours: func(o *onOurs) ([]ourWay, error) { return query(table.From(o.tables["t"]).Distinct()), nil },
	},
}

// sort orders a table by its first columns.
func sort(name string, data func(n int64) []column, keys ...any) problem {
	p := problem{
		name: name, order: len(keys),
		inputs: func(n int64) map[string]arrow.RecordBatch {
			return map[string]arrow.RecordBatch{"t": record(data(n)...)}
		},
		ours: func(o *onOurs) ([]ourWay, error) {
			var by []table.Order
			for _, k := range keys {
				by = append(by, table.Asc(k))
			}
			return query(table.From(o.tables["t"]).Sort(by...)), nil
		},
	}
	for range len(keys) + 1 {
		p.columns = append(p.columns, exact)
	}
	return p
}
