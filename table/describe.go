package table

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// statistics are the rows of Describe after count and nulls.
var statistics = []struct {
	name  string
	op    kernels.Aggregation
	types kernels.Types
}{
	{"mean", kernels.Mean, kernels.NumberTypes | kernels.DecimalTypes | kernels.BoolTypes},
	{"std", kernels.Std, kernels.NumberTypes | kernels.DecimalTypes},
	{"min", kernels.Min, kernels.NumberTypes | kernels.DecimalTypes},
	{"max", kernels.Max, kernels.NumberTypes | kernels.DecimalTypes},
	{"distinct", kernels.CountDistinct, kernels.KeyTypes},
}

// Describe runs the query and gives a table with a row for each statistic: the
// number of values that are not null, of nulls, and, where the column's type
// has it, mean, standard deviation (of a sample: ddof 1), least and greatest
// value, number of distinct values; all as float64. Its first column,
// "statistic", names them; the others are named as in the query.
func (q *Query) Describe(ctx context.Context) (*Table, error) {
	n, _, err := q.resolved(ctx, func(_ *optimiser, s *scalarNode) (kernels.Scalar, error) { return unknownScalar(s) })
	if err != nil {
		return nil, err
	}
	var aggs []Aggregate
	type slot struct{ column, row int }
	var slots []slot
	fields := n.schema().Fields()
	add := func(a Aggregate, column, row int) {
		aggs = append(aggs, a.As(a.op.String()+" "+fields[column].Name))
		slots = append(slots, slot{column, row})
	}
	for i, f := range fields {
		if !kernels.KeyTypes.Has(f.Type.ID()) {
			continue
		}
		add(Count(expr.Col(f.Name)), i, 0)
		for k, s := range statistics {
			if s.types.Has(f.Type.ID()) {
				a := aggregate(s.op, f.Name)
				if s.op == kernels.Std {
					a.options.Ddof = 1
				}
				add(a, i, k+2)
			}
		}
	}
	result, err := q.Agg(append(aggs, Count().As("rows"))...).Collect(ctx)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	if result, err = result.onHost(ctx); err != nil {
		return nil, err
	}
	defer result.Release()
	cells := make([][]float64, len(fields))
	valid := make([][]bool, len(fields))
	for i := range fields {
		cells[i], valid[i] = make([]float64, len(statistics)+2), make([]bool, len(statistics)+2)
	}
	rows := result.at(0, len(aggs)).Float64()
	for k, s := range slots {
		v := result.at(0, k)
		cells[s.column][s.row], valid[s.column][s.row] = asFloat(v), v.Valid()
		if s.row == 0 {
			cells[s.column][1], valid[s.column][1] = rows-v.Float64(), true
		}
	}
	labels := []string{"count", "nulls"}
	for _, s := range statistics {
		labels = append(labels, s.name)
	}
	series := []Series{Column("statistic", labels)}
	for i, f := range fields {
		series = append(series, Column(f.Name, cells[i]).Valid(valid[i]))
	}
	return New(q.backend, series...)
}

// asFloat is a number as float64.
func asFloat(v kernels.Scalar) float64 {
	if !v.Valid() {
		return 0
	}
	if d, ok := v.Type().(*arrow.Decimal128Type); ok {
		return v.Decimal().ToFloat64(d.Scale)
	}
	return v.Float64()
}
