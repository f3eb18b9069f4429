package table

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
)

func TestScalarsOfOtherPlans(t *testing.T) {
	b := testBackend(t)
	table, err := New(b, Column("k", []int64{1, 2, 3, 4}), Column("s", []string{"a", "b", "c", "d"}), Column("v", []float64{0.5, 1.5, 2.5, 3.5}))
	require.NoError(t, err)
	defer table.Release()
	q := From(table)
	mean := q.Agg(Mean("v").As("m"))
	equalRows(t, "in a filter", collect(t, q.WithScalar("mean", mean).Filter("v > mean").Drop("mean")), []string{"3|c|2.5", "4|d|3.5"})
	equalRows(t, "as a column", collect(t, q.WithScalar("mean", mean).Select("k", "mean").Head(2)), []string{"1|2", "2|2"})
	equalRows(t, "in place of a column", collect(t, q.WithScalar("v", mean).Head(1)), []string{"1|a|2"})
	none := q.Filter("k > 9").Select("v")
	equalRows(t, "no row", collect(t, q.WithScalar("x", none).Select("k", "x").Head(1)), []string{"1|null"})
	equalRows(t, "no row in a filter", collect(t, q.WithScalar("x", none).Filter("v > x")), nil)
	equalRows(t, "no row is null", collect(t, q.WithScalar("x", none).Filter("x is null").Select("k")), []string{"1", "2", "3", "4"})
	equalRows(t, "a text", collect(t, q.WithScalar("last", q.Agg(Max("s"))).Filter("s = last").Select("k")), []string{"4"})
	equalRows(t, "of no rows", collect(t, q.Filter("k > 9").WithScalar("mean", mean)), nil)
	twice := q.WithScalar("least", q.WithScalar("mean", mean).Filter("v > mean").Agg(Min("v"))).Filter("v > least")
	equalRows(t, "of a plan with a scalar", collect(t, twice.Select("k")), []string{"4"})
	after := q.GroupBy("s").Agg(Sum("v").As("sum")).WithScalar("all", q.Agg(Sum("v"))).WithColumn("share", "sum / all").Filter("share > 0.3")
	equalRows(t, "a share", collect(t, after.Select("s", "share")), []string{"c|0.3125", "d|0.4375"})
	right := q.WithScalar("mean", mean).Filter("v < mean")
	equalRows(t, "in the side of a join", collect(t, q.Join(right, Semi, On("k")).Select("k")), []string{"1", "2"})

	for want, wrong := range map[string]*Query{
		`scalar "x": `:               q.WithScalar("x", q.Select("v")),
		"gives more than one row":    q.WithScalar("x", q.Head(2).Select("v")),
		"the other query has 3 col":  q.WithScalar("x", q),
		`unknown column "nothing"`:   q.WithScalar("x", q.Agg(Sum("nothing"))),
		"no table or query given":    q.WithScalar("x", nil),
		`scalar "y": filter: 1 / (k`: q.WithScalar("y", q.Filter("1 / (k - 1) > 0").Agg(Count())),
	} {
		_, err := wrong.Collect(t.Context())
		require.Error(t, err)
		require.ErrorContains(t, err, want)
	}
	_, err = q.WithScalar("x", q.Select("v")).Collect(t.Context())
	require.ErrorIs(t, err, device.ErrValue)
}

// Values of every kind are constants of their type, those of dictionaries of the plain one.
func TestScalarsOfEveryType(t *testing.T) {
	b := testBackend(t)
	table := tableOf(t, b, randomRecs(9, 3, 4), 2, 4)
	q := From(table).Head(1).Select("id")
	for _, typ := range []string{"int8", "uint64", "float32", "decimal(12, 2)", "date32", "timestamp[us]", "duration[ms]", "dictionary(int8, utf8)", "large_utf8", "bool"} {
		if b.Device.Name() != "cpu" && (typ == "dictionary(int8, utf8)" || typ == "large_utf8") {
			continue // casts to texts are the host's
		}
		want, err := q.WithColumn("x", "cast(id as "+typ+")").Select("x").Collect(t.Context())
		require.NoError(t, err, typ)
		got, err := From(table).WithScalar("x", q.Select(expr.Col("id").Cast(want.Schema().Field(0).Type))).Select("x").Head(1).Collect(t.Context())
		require.NoError(t, err, typ)
		require.Equal(t, shown(want), shown(got), typ)
		plain := want.Schema().Field(0).Type
		if d, ok := plain.(*arrow.DictionaryType); ok {
			plain = d.ValueType
		}
		require.True(t, arrow.TypeEqual(plain, got.Schema().Field(0).Type), typ)
		want.Release()
		got.Release()
	}
}

// A source is asked for the value as it is for a constant, and Explain names it.
func TestScalarsArePushed(t *testing.T) {
	b := testBackend(t)
	table := tableOf(t, b, randomRecs(40, 5, 1), 1, 1)
	var asked []ScanOptions
	file := Scan(memorySource{table: table, asked: &asked}).On(b)
	q := file.Join(file, Inner, On("id")).WithScalar("least", From(table).Agg(Max("id").As("m"))).Filter("id >= least and least > 3").Select("id", "k_right", "least")
	got, err := q.Explain(t.Context())
	require.NoError(t, err)
	got, _, piped := strings.Cut(got, "pipelines:\n")
	require.True(t, piped)
	require.Equal(t, `filter least > 3
  select id, k_right, least as least
    inner join on id = id columns [id, k_right]
      filter id >= least
        scan memory.test columns [id] where id >= least
      scan memory.test columns [id, k]
scalar least
  limit 2
    aggregate max(id) as m
      table of 40 rows in 1 chunks, columns [id]
`, got)
	require.Empty(t, asked)
	require.Len(t, collect(t, q), 1)
	require.Len(t, asked, 2)
	_, op, value, ok := asked[0].Predicate.Comparison()
	if !ok {
		_, op, value, ok = asked[1].Predicate.Comparison()
	}
	require.True(t, ok)
	require.Equal(t, ">=", op.String())
	require.Equal(t, int64(39), value.Int64())
}
