package table

import (
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// statistics are the rows of Describe between nulls and distinct.
var statistics = []struct {
	name  string
	op    kernels.Aggregation
	types kernels.Types
}{
	{"mean", kernels.Mean, kernels.NumberTypes | kernels.DecimalTypes | kernels.BoolTypes},
	{"std", kernels.Std, kernels.NumberTypes | kernels.DecimalTypes},
	{"min", kernels.Min, kernels.NumberTypes | kernels.DecimalTypes},
	{"max", kernels.Max, kernels.NumberTypes | kernels.DecimalTypes},
}

// Description lists what Describe asks of the columns of a table: Aggregates, and the columns
// whose distinct values are counted, by name. Table makes the statistics from the answers.
// Package distributed asks all ranks and uses the same description.
type Description struct {
	Aggregates []Aggregate
	Distinct   []string
	fields     []arrow.Field
	cells      []cell // of the aggregates but the last, which counts rows, and then of the distinct values
}

// cell is a place in the table of Describe.
type cell struct{ column, row int }

// DescriptionOf describes the columns of a schema. Lists, structs and other types that cannot be
// keys have no statistics: Table leaves their columns null.
func DescriptionOf(schema *arrow.Schema) *Description {
	d := &Description{fields: schema.Fields()}
	add := func(a Aggregate, at cell) {
		d.Aggregates = append(d.Aggregates, a.As(a.op.String()+" "+d.fields[at.column].Name))
		d.cells = append(d.cells, at)
	}
	for i, f := range d.fields {
		if !kernels.KeyTypes.Has(f.Type.ID()) {
			continue
		}
		add(Count(expr.Col(f.Name)), cell{i, 0})
		for k, s := range statistics {
			if s.types.Has(f.Type.ID()) {
				a := aggregate(s.op, f.Name)
				if s.op == kernels.Std {
					a.options.Ddof = 1
				}
				add(a, cell{i, k + 2})
			}
		}
	}
	d.Aggregates = append(d.Aggregates, Count().As("rows"))
	for i, f := range d.fields {
		if kernels.KeyTypes.Has(f.Type.ID()) {
			d.Distinct = append(d.Distinct, f.Name)
			d.cells = append(d.cells, cell{i, len(statistics) + 2})
		}
	}
	return d
}

// Table makes the table that Query.Describe documents. The first columns of row's one row are the
// Aggregates, in their order; distinct[i] counts the different values of column Distinct[i], and
// null is none. The result is on row's backend.
func (d *Description) Table(ctx context.Context, row *Table, distinct []int64) (*Table, error) {
	row, err := row.onHost(ctx)
	if err != nil {
		return nil, err
	}
	defer row.Release()
	cells := make([][]float64, len(d.fields))
	valid := make([][]bool, len(d.fields))
	for i := range d.fields {
		cells[i], valid[i] = make([]float64, len(statistics)+3), make([]bool, len(statistics)+3)
	}
	last := len(d.Aggregates) - 1
	rows := row.at(0, last).Float64()
	for k, at := range d.cells {
		if k >= last {
			cells[at.column][at.row], valid[at.column][at.row] = float64(distinct[k-last]), true
			continue
		}
		v := row.at(0, k)
		cells[at.column][at.row], valid[at.column][at.row] = asFloat(v), v.Valid()
		if at.row == 0 {
			cells[at.column][1], valid[at.column][1] = rows-v.Float64(), true
		}
	}
	labels := []string{"count", "nulls"}
	for _, s := range statistics {
		labels = append(labels, s.name)
	}
	series := []Series{Column("statistic", append(labels, "distinct"))}
	for i, f := range d.fields {
		series = append(series, Column(f.Name, cells[i]).Valid(valid[i]))
	}
	return New(row.backend, series...)
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
	d := DescriptionOf(n.schema())
	asked := slices.Clone(d.Aggregates)
	for _, name := range d.Distinct {
		asked = append(asked, CountDistinct(name).As("distinct "+name))
	}
	row, err := q.Agg(asked...).Collect(ctx)
	if err != nil {
		return nil, err
	}
	defer row.Release()
	if row, err = row.onHost(ctx); err != nil {
		return nil, err
	}
	defer row.Release()
	distinct := make([]int64, len(d.Distinct))
	for i := range distinct {
		distinct[i] = row.at(0, len(d.Aggregates)+i).Int64()
	}
	return d.Table(ctx, row, distinct)
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
