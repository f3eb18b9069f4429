package table

import (
	"context"
	"io"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow"
	"github.com/volley-go/volley/kernels"
)

// tableSource is a table as a source.
type tableSource struct{ *Table }

func (s tableSource) Name() string                                  { return "a table" }
func (s tableSource) Schema(context.Context) (*arrow.Schema, error) { return s.Table.Schema(), nil }

func (s tableSource) Scan(_ context.Context, _ *kernels.Backend, o ScanOptions) (BatchReader, error) {
	return &tableReader{s.Table, o}, nil
}

type tableReader struct {
	t *Table
	o ScanOptions
}

func (r *tableReader) Close() error { return nil }
func (r *tableReader) Next(context.Context) (*Batch, error) {
	if r.t == nil {
		return nil, io.EOF
	}
	b := r.t.Chunks()[0]
	r.t = nil
	if r.o.Columns == nil {
		return b.Retain(), nil
	}
	return project(b, subset(b.Schema(), r.o.Columns))
}

// statedSource states rows and bounds in two parts.
type statedSource struct {
	tableSource
	columns map[string][2]int64
}

func (s statedSource) Ranges(context.Context) ([]map[string]expr.Range, error) {
	half := s.NumRows() / 2
	parts := []map[string]expr.Range{{}, {}}
	for i, rows := range []int64{half, s.NumRows() - half} {
		for _, f := range s.Table.Schema().Fields() {
			r := expr.Range{Rows: rows, Nulls: -1}
			if b, ok := s.columns[f.Name]; ok {
				r.Min, r.Max = kernels.Int(f.Type, b[0]), kernels.Int(f.Type, b[1])
			}
			parts[i][f.Name] = r
		}
	}
	return parts, nil
}

var _ flow.Stated = statedSource{}

// Joins of sources that state nothing stay as written: an order that is guessed may pair
// every row with every other. Where rows and bounds are stated the large side streams.
func TestJoinsOfSourcesAreReorderedByWhatTheyState(t *testing.T) {
	fact, part, shop, town := star(t, 20_000)
	plan := func(source func(t *Table, columns map[string][2]int64) Source) *Query {
		of := func(t *Table, columns map[string][2]int64) *Query { return Scan(source(t, columns)).On(t.backend) }
		return of(part, map[string][2]int64{"pk": {0, 99}}).Filter("colour = 'colour 3'").
			Join(of(fact, map[string][2]int64{"part": {0, 99}, "shop": {0, 19}}), Inner, Keys("pk", "part")).
			Join(of(shop, map[string][2]int64{"sk": {0, 19}, "town": {0, 3}}), Inner, Keys("shop", "sk")).
			Join(of(town, map[string][2]int64{"tk": {0, 3}}), Inner, Keys("town", "tk")).
			GroupBy("colour", "town").Agg(Sum("v").As("sum")).Sort(Asc("colour"), Asc("town"))
	}
	silent := plan(func(t *Table, _ map[string][2]int64) Source { return tableSource{t} })
	stated := plan(func(t *Table, columns map[string][2]int64) Source { return statedSource{tableSource{t}, columns} })
	require.Regexp(t, `inner join on pk = part`, shape(t, silent))
	require.Regexp(t, `inner join on part = pk`, shape(t, stated))
	sameRows(t, "silent", silent)
	sameRows(t, "stated", stated)
	equalRows(t, "both", collect(t, silent), collect(t, stated))
}

func TestStatedOf(t *testing.T) {
	i64 := arrow.PrimitiveTypes.Int64
	price := &arrow.Decimal128Type{Precision: 12, Scale: 2}
	field := func(typ arrow.DataType) arrow.Field { return arrow.Field{Name: "x", Type: typ} }
	part := func(r expr.Range) map[string]expr.Range { return map[string]expr.Range{"x": r} }
	c, ok := statedOf(field(i64), []map[string]expr.Range{
		part(expr.Range{Rows: 100, Nulls: 4, Min: kernels.Int(i64, 7), Max: kernels.Int(i64, 9)}),
		part(expr.Range{Rows: 50, Nulls: -1, Min: kernels.Int(i64, -2), Max: kernels.Int(i64, 3)})})
	require.True(t, ok)
	require.Equal(t, [2]int64{150, 4}, [2]int64{c.Rows, c.Nulls})
	require.True(t, c.Bounded)
	require.Equal(t, [3]float64{-2, 9, 12}, [3]float64{c.Min, c.Max, c.Distinct})
	low, err := kernels.CastScalar(kernels.Int64(1), price, kernels.CastOptions{})
	require.NoError(t, err)
	high, err := kernels.CastScalar(kernels.Int64(2), price, kernels.CastOptions{})
	require.NoError(t, err)
	c, _ = statedOf(field(price), []map[string]expr.Range{part(expr.Range{Rows: 1000, Min: low, Max: high})})
	require.Equal(t, 101.0, c.Distinct)
	c, _ = statedOf(field(i64), []map[string]expr.Range{part(expr.Range{Rows: 10_000, Nulls: -1})}) // nothing but rows
	require.False(t, c.Bounded)
	require.Equal(t, 100.0, c.Distinct)
	texts := func(rows, distinct int64) map[string]expr.Range {
		return part(expr.Range{Rows: rows, Distinct: distinct})
	}
	for want, parts := range map[float64][]map[string]expr.Range{
		5: {texts(1000, 3), texts(1000, 5)}, 1900: {texts(1000, 900), texts(1000, 1000)}, 40: {texts(800, 3), texts(800, 0)}, 7: {texts(0, 0), texts(1000, 7)},
	} {
		c, _ = statedOf(field(arrow.BinaryTypes.String), parts)
		require.Equal(t, want, c.Distinct)
	}
	_, ok = statedOf(field(i64), []map[string]expr.Range{{}})
	require.False(t, ok)
}
