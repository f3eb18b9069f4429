package peers

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/table"
)

// joins find the partners of n rows: inner joins on one key with a payload of
// one column a side.
var joins = []problem{
	join("join_1e5", func(n int64) (l, r column, v, w column) {
		m := min(n, groups)
		return column{"k", int64s(draws(0, n, m))}, column{"k", int64s(permutation(2, m))},
			column{"v", float64s(floats(1, n))}, column{"w", float64s(floats(3, m))}
	}),
	join("join_unique", func(n int64) (l, r column, v, w column) {
		return column{"k", int64s(permutation(0, n))}, column{"k", int64s(permutation(2, n))},
			column{"v", float64s(floats(1, n))}, column{"w", float64s(floats(3, n))}
	}),
	// The tables of Cylon's published benchmark: two columns of int64 a side,
	// keys drawn from 0.99 n.
	join("join_cylon", func(n int64) (l, r column, v, w column) {
		keys := max(n*99/100, 1)
		return column{"k", int64s(draws(0, n, keys))}, column{"k", int64s(draws(2, n, keys))},
			column{"v", int64s(anywhere(1, n))}, column{"w", int64s(anywhere(3, n))}
	}),
	join("join_sparse", func(n int64) (l, r column, v, w column) {
		return column{"k", int64s(spread(permutation(0, n)))}, column{"k", int64s(spread(permutation(2, n)))},
			column{"v", float64s(floats(1, n))}, column{"w", float64s(floats(3, n))}
	}),
	join("join_str", func(n int64) (l, r column, v, w column) {
		m := min(n, groups)
		return column{"k", labels(draws(0, n, m))}, column{"k", labels(permutation(2, m))},
			column{"v", float64s(floats(1, n))}, column{"w", float64s(floats(3, m))}
	}),
}

func join(name string, data func(n int64) (lk, rk, v, w column)) problem {
	return problem{
		name: name, columns: []kind{exact, exact, exact}, anyOrder: true,
		inputs: func(n int64) map[string]arrow.RecordBatch {
			lk, rk, v, w := data(n)
			return map[string]arrow.RecordBatch{"l": record(lk, v), "r": record(rk, w)}
		},
		ours: func(o *onOurs) ([]ourWay, error) {
			options := []table.JoinOption{table.Keys("k", "k")}
			if o.anyOrder {
				options = append(options, table.AnyOrder())
			}
			return query(table.From(o.tables["l"]).Join(table.From(o.tables["r"]), table.Inner, options...)), nil
		},
	}
}
