package table

import (
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// comesBefore reports whether a row of one table comes before one of another in the
// order of columns by these keys.
func comesBefore(a *Table, i int64, b *Table, k int64, columns []int, keys []Order) bool {
	for at, o := range keys {
		x, y := a.at(i, columns[at]), b.at(k, at)
		c := kernels.CompareKeys(x, y)
		last := func(s kernels.Scalar) bool {
			return !s.Valid() || kernels.FloatTypes.Has(s.Type().ID()) && math.IsNaN(s.Float64())
		}
		flip := o.descending
		if last(x) || last(y) {
			flip = o.nullsFirst
		}
		if flip {
			c = -c
		}
		if c != 0 {
			return c < 0
		}
	}
	return false
}

// TestPartitionByRange: each row is behind the bounds that it does not come before, for
// every direction and place of nulls, and parts keep the table's order.
func TestPartitionByRange(t *testing.T) {
	b := testBackend(t)
	recs := randomRecs(2000, 40, 11)
	nan := math.NaN()
	recs[3].v, recs[900].v = &nan, &nan
	whole := tableOf(t, b, recs, 4, 3)
	host, err := whole.onHost(t.Context())
	require.NoError(t, err)
	defer host.Release()
	rows := shown(whole)
	cases := [][]Order{
		{Asc("k")}, {Desc("k")}, {Asc("k").NullsFirst()}, {Asc("s")}, {Asc("v")}, {Desc("v").NullsFirst()},
		{Asc("s"), Desc("k")}, {Desc("s").NullsFirst(), Asc("v"), Asc("id")}, {Asc("id")},
	}
	for _, keys := range cases {
		var columns []int
		var names []any
		for _, k := range keys {
			columns = append(columns, whole.schema.FieldIndices(k.key.Name())[0])
			names = append(names, k.key.Name())
		}
		for _, n := range []int64{0, 1, 6, 60} {
			sorted, err := whole.Query().Sort(keys...).Select(names...).Collect(t.Context())
			require.NoError(t, err)
			some := make([]bool, len(recs))
			for i := range n {
				some[(i+1)*int64(len(recs))/(n+1)] = true
			}
			marked, err := New(b, Column("some", some))
			require.NoError(t, err)
			bounds := picked(t, sorted, marked)
			require.Equal(t, n, bounds.NumRows())
			near, err := bounds.onHost(t.Context())
			require.NoError(t, err)

			parts, err := whole.PartitionByRange(t.Context(), bounds, keys...)
			require.NoError(t, err)
			require.Len(t, parts, int(n)+1)
			want := make([][]string, n+1)
			for i := range host.NumRows() {
				p := int64(0)
				for p < n && !comesBefore(host, i, near, p, columns, keys) {
					p++
				}
				want[p] = append(want[p], rows[i])
			}
			for p, got := range partsShown(t, parts) {
				equalRows(t, fmt.Sprintf("part %d of %d by %s", p, n+1, listText(keys)), got, want[p])
			}
			for _, made := range []*Table{sorted, marked, bounds, near} {
				made.Release()
			}
		}
	}
}

// picked are the marked rows of a table.
func picked(t *testing.T, rows, marks *Table) *Table {
	t.Helper()
	s, err := rows.backend.NewStream()
	require.NoError(t, err)
	whole, err := (&runner{backend: rows.backend, stream: s}).concat(t.Context(), rows.schema, held(rows))
	require.NoError(t, err)
	defer whole.Release()
	var series []Series
	for i, c := range whole.Columns() {
		series = append(series, Column(rows.schema.Field(i).Name, c))
	}
	series = append(series, Column("some", marks.chunks[0].Columns()[0]))
	both, err := New(rows.backend, series...)
	require.NoError(t, err)
	defer both.Release()
	out, err := both.Query().Filter(expr.Col("some")).Drop("some").Collect(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return out
}

func held(t *Table) []*Batch {
	var all []*Batch
	for _, c := range t.chunks {
		all = append(all, c.Retain())
	}
	return all
}

// TestPartitionByRangeOfDictionaries: a dictionary is ordered by its values, and bounds of
// another type are cast; arguments that do not fit are named.
func TestPartitionByRangeOfDictionaries(t *testing.T) {
	b := testBackend(t)
	dictionary := array.NewBuilder(arrowmemory.DefaultAllocator, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String})
	for _, text := range []string{"d", "a", "c", "b", "a"} {
		require.NoError(t, dictionary.AppendValueFromString(text))
	}
	a := dictionary.NewArray()
	c, err := memory.FromArrow(a)
	require.NoError(t, err)
	a.Release()
	whole, err := New(b, Column("k", c), Column("n", []int32{4, 1, 3, 2, 1}))
	require.NoError(t, err)
	c.Release()
	defer whole.Release()
	split := func(bounds Series, keys ...Order) ([][]string, error) {
		made, err := New(b, bounds)
		require.NoError(t, err)
		defer made.Release()
		parts, err := whole.PartitionByRange(t.Context(), made, keys...)
		if err != nil {
			return nil, err
		}
		return partsShown(t, parts), nil
	}
	byText, err := split(Column("anything", []string{"b", "d"}), Asc("k"))
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a|1", "a|1"}, {"c|3", "b|2"}, {"d|4"}}, byText)
	byText, err = split(Column("anything", []string{"c", "b"}), Desc("k"))
	require.NoError(t, err)
	require.Equal(t, [][]string{{"d|4"}, {"c|3"}, {"a|1", "b|2", "a|1"}}, byText)
	byNumber, err := split(Column("n", []int64{3}), Asc("n"))
	require.NoError(t, err)
	require.Equal(t, [][]string{{"a|1", "b|2", "a|1"}, {"d|4", "c|3"}}, byNumber)
	byExpression, err := split(Column("n", []int64{-2}), Asc(expr.Col("n").Neg()))
	require.NoError(t, err)
	require.Equal(t, [][]string{{"d|4", "c|3"}, {"a|1", "b|2", "a|1"}}, byExpression)

	_, err = split(Column("n", []int64{1 << 40}), Asc("n"))
	require.ErrorIs(t, err, device.ErrValue)
	require.ErrorContains(t, err, "bounds")
	_, err = split(Column("n", []int64{3, 1}), Asc("n"))
	require.ErrorIs(t, err, device.ErrMismatch)
	require.ErrorContains(t, err, "row 1")
	_, err = split(Column("n", []int64{3, 1}))
	require.ErrorIs(t, err, device.ErrMismatch)
	_, err = split(Column("n", []int64{3}), Asc("nobody"))
	require.ErrorContains(t, err, "nobody")
	_, err = whole.PartitionByRange(t.Context(), nil, Asc("n"))
	require.ErrorIs(t, err, device.ErrMismatch)
}
