package distributed

import (
	"context"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
)

// Describe gives the statistics of table.Query.Describe over the rows of all ranks. The result is
// replicated: every rank has all of it. Agg makes the aggregates, in parts, and Distinct finds the
// different values of one column after the other, so errors name these calls.
func (d *Table) Describe(ctx context.Context) (*Table, error) {
	what := table.DescriptionOf(d.Schema())
	row, err := d.Agg(ctx, what.Aggregates...)
	if err != nil {
		return nil, err
	}
	defer row.Release()
	counts := make([]int64, len(what.Distinct))
	for i, name := range what.Distinct {
		if counts[i], err = d.countDistinct(ctx, name); err != nil {
			return nil, err
		}
	}
	o := row.start(ctx, "Describe", "")
	made := o.table(func() (*table.Table, error) { return what.Table(ctx, row.part, counts) })
	defer made.Release()
	return o.finish(made, Partitioning{Scheme: Replicated})
}

// countDistinct counts the different values of a column on all ranks; null is none.
func (d *Table) countDistinct(ctx context.Context, name string) (int64, error) {
	column, err := d.Select(ctx, expr.Col(name)) // which keeps what is known of where its values are
	if err != nil {
		return 0, err
	}
	defer column.Release()
	values, err := column.Distinct(ctx)
	if err != nil {
		return 0, err
	}
	defer values.Release()
	some, err := values.Filter(ctx, expr.Col(name).IsNotNull())
	if err != nil {
		return 0, err
	}
	defer some.Release()
	return some.NumRows(), nil
}
