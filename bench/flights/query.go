package flights

import (
	"context"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
)

// query ranks the states of departure of flights of at least 500 miles by
// their mean delay.
func query(ctx context.Context, flights, airports *table.Table) ([]State, error) {
	t, err := table.From(flights).
		Filter(expr.Col("distance").Ge(500)).
		Join(table.From(airports), table.Inner, table.Keys("origin", "iata")).
		GroupBy("state").
		Agg(
			table.Count().As("flights"),
			table.Mean("delay").As("mean_delay"),
			table.Max("delay").As("max_delay"),
			table.Mean(expr.Col("delay").Gt(15)).As("late_share")).
		Sort(table.Desc("mean_delay"), table.Asc("state")).
		Collect(ctx)
	if err != nil {
		return nil, err
	}
	defer t.Release()
	return states(ctx, t)
}
