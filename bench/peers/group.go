package peers

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/table"
)

// groupings sum and count floats by keys.
var groupings = []problem{
	groupBy("groupby_100", func(n int64) arrow.Array { return int64s(draws(0, n, 100)) }),
	groupBy("groupby_1e5", func(n int64) arrow.Array { return int64s(draws(0, n, groups)) }),
	groupBy("groupby_unique", func(n int64) arrow.Array { return int64s(permutation(0, n)) }),
	{
		name: "groupby_two", columns: []kind{exact, exact, approx, exact}, anyOrder: true,
		inputs: func(n int64) map[string]arrow.RecordBatch {
			return map[string]arrow.RecordBatch{"t": record(column{"k1", int64s(draws(0, n, 1000))},
				column{"k2", int64s(draws(2, n, 100))}, column{"v", float64s(floats(1, n))})}
		},
		ours: grouped(table.Count(), "k1", "k2"),
	},
	groupBy("groupby_str", func(n int64) arrow.Array { return labels(draws(0, n, groups)) }),
	groupBy("groupby_sorted", func(n int64) arrow.Array { return int64s(sorted(draws(0, n, groups))) }),
	{
		name: "groupby_nulls", columns: []kind{exact, approx, exact}, anyOrder: true,
		inputs: func(n int64) map[string]arrow.RecordBatch {
			keyValid, keyNulls := holes(2, n, 0.3)
			valid, nulls := holes(3, n, 0.3)
			return map[string]arrow.RecordBatch{"t": record(
				column{"k", fixed(arrow.PrimitiveTypes.Int64, draws(0, n, groups), keyValid, keyNulls)},
				column{"v", fixed(arrow.PrimitiveTypes.Float64, floats(1, n), valid, nulls)})}
		},
		ours: grouped(table.Count("v"), "k"),
	},
	groupBy("groupby_zipf", func(n int64) arrow.Array { return int64s(zipf(0, n)) }),
	groupBy("groupby_sparse", func(n int64) arrow.Array { return int64s(spread(draws(0, n, groups))) }),
	groupBy("groupby_skew", func(n int64) arrow.Array { return int64s(spread(zipf(0, n))) }),
}

// groupBy is the sum and the number of rows by one key.
func groupBy(name string, keys func(n int64) arrow.Array) problem {
	return problem{
		name: name, columns: []kind{exact, approx, exact}, anyOrder: true,
		inputs: func(n int64) map[string]arrow.RecordBatch {
			return map[string]arrow.RecordBatch{"t": record(column{"k", keys(n)}, column{"v", float64s(floats(1, n))})}
		},
		ours: grouped(table.Count(), "k"),
	}
}

func grouped(count table.Aggregate, keys ...any) func(*onOurs) ([]ourWay, error) {
	return func(o *onOurs) ([]ourWay, error) {
		g := table.From(o.tables["t"]).GroupBy(keys...)
		if o.anyOrder {
			g = g.AnyOrder()
		}
		return query(g.Agg(table.Sum("v").As("sum"), count.As("count"))), nil
	}
}
