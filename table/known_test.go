package table

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/flow/exec"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/internal/slots"
	"github.com/volley-go/volley/kernels"
)

// The kinds of wrong rows that engines have given, each against the rows that are right: with all rules, with each
// off and with none, in morsels of 3 rows and whole, and where all hashes are equal.
func TestRowsThatEnginesHaveGotWrong(t *testing.T) {
	b := testBackend(t)
	made := func(columns ...Series) *Query {
		table, err := New(b, columns...)
		require.NoError(t, err)
		t.Cleanup(table.Release)
		return From(table)
	}
	yes, no := true, false
	nan := math.NaN()
	left := made(Column("k", []int64{1, 2, 2, 3, 0, 4, 1}).Valid([]bool{yes, yes, yes, yes, no, yes, yes}), Column("v", []int64{10, 20, 21, 30, 40, 50, 11}))
	right := made(Column("k", []int64{2, 2, 3, 0, 9, 1}).Valid([]bool{yes, yes, yes, no, yes, yes}), Column("v", []int64{20, 22, 30, 40, 90, 12}))
	floats := made(Column("f", []float64{nan, 0, math.Copysign(0, -1), 1, 2, nan, 0}).Valid([]bool{yes, yes, yes, yes, no, yes, yes}), Column("id", seriesOf(7)))
	other := made(Column("f", []float64{math.Copysign(0, -1), nan, 5}), Column("w", []int64{1, 2, 3}))
	short := made(Column("s", []int16{math.MinInt16, math.MaxInt16, 0, -1, math.MinInt16}), Column("id", seriesOf(5)))
	edge := made(Column("s", []int16{math.MaxInt16, math.MinInt16}), Column("w", []int64{7, 8}))
	long := made(Column("l", []int64{math.MinInt64, math.MaxInt64, 0, -1}), Column("id", seriesOf(4)))
	far := made(Column("l", []int64{math.MaxInt64, math.MinInt64, 5}), Column("w", []int64{7, 8, 9}))
	tiny := made(Column("t", []int8{1, -1, 44, 127}), Column("id", seriesOf(4)))
	a := strings.Repeat("a", 70)
	texts := made(Column("g", []int64{0, 0, 1}), Column("s", []string{a + "z", a + "b", a}))
	none := left.Filter("v < 0")
	on := On("k")
	for name, c := range map[string]struct {
		q    *Query
		want string
	}{
		"a join filter below a limit":               {left.Head(3).Join(right.Filter("v = 30"), Inner, on), ""},
		"a join filter below top n":                 {left.TopK(2, Desc("v")).Join(right.Filter("v = 12"), Semi, on), ""},
		"a condition on the right of one name":      {left.Join(right, Inner, on).Filter("v_right = 22").Select("k", "v"), "2|20 2|21"},
		"sides that are exchanged":                  {right.Filter("v < 23").Join(left, Inner, on).Join(made(Column("j", []int64{2})), Inner, Keys("k", "j")).Select("v", "v_right"), "20|20 20|21 22|20 22|21"},
		"null is null":                              {left.Join(right, Semi, on, NullsEqual()).Select("v"), "10 20 21 30 40 11"},
		"null is null, inner":                       {left.Join(right.Filter("v >= 30"), Inner, on, NullsEqual()).Select("v", "v_right"), "30|30 40|40"},
		"a condition right of a left join":          {left.Join(right.Filter("v > 21"), Left, on).Select("v", "v_right"), "10|null 20|22 21|22 30|30 40|null 50|null 11|null"},
		"a condition above a left join":             {left.Join(right, Left, on).Filter("v_right > 21").Select("v", "v_right"), "20|22 21|22 30|30"},
		"rows without a match":                      {left.Join(right, Left, on).Filter("v_right is null").Select("v"), "40 50"},
		"a null that counts as a value":             {left.Join(right, Left, on).Filter("coalesce(v_right, 0) < 13").Select("v"), "10 40 50 11"},
		"the ends of int16":                         {short.Join(edge, Inner, On("s")).Select("id", "w"), "0|8 1|7 4|8"},
		"the ends of int16 as groups":               {short.GroupBy("s").Agg(Count()), "-32768|2 32767|1 0|1 -1|1"},
		"the ends of int64":                         {long.Join(far, Inner, On("l")).Select("id", "w"), "0|8 1|7"},
		"the ends of int64 as groups":               {long.GroupBy("l").Agg(Count()).Select("count"), "1 1 1 1"},
		"groups of nothing":                         {none.GroupBy("k").Agg(Count(), Sum("v")), ""},
		"a join of nothing":                         {left.Join(none, Anti, on).Agg(Count()), "7"},
		"nothing joined":                            {none.Join(right, Left, on).GroupBy("k").Agg(Count()).Sort(Asc("k")), ""},
		"a constant wider than its column":          {tiny.Filter("t = 300 or t = 1 or t < -1000").Select("id"), "0"},
		"constants wider than their column":         {tiny.Filter("t in (300, 44) and t < 70000").Select("id"), "2"},
		"a key wider than the other":                {tiny.Join(made(Column("w", []int64{300, 257, 44})), Inner, Keys("t", "w")).Select("id"), "2"},
		"NaN, -0 and null as keys":                  {floats.Join(other, Inner, On("f")).Select("id", "w"), "0|2 1|1 2|1 5|2 6|1"},
		"NaN, -0 and null in semi joins":            {floats.Join(other, Anti, On("f")).Select("id"), "3 4"},
		"NaN, -0 and null as groups":                {floats.GroupBy("f").Agg(Count()).Select("count"), "2 3 1 1"},
		"NaN and null at the end of top n":          {floats.TopK(5, Asc("f")).Select("id"), "1 2 6 3 0"},
		"NaN and null at the end of descending":     {floats.TopK(7, Desc("f")).Select("id"), "3 1 2 6 0 5 4"},
		"null before all in top n":                  {floats.TopK(2, Desc("f").NullsFirst()).Select("id"), "4 0"},
		"null before all":                           {floats.TopK(3, Asc("f").NullsFirst()).Select("id"), "4 0 5"},
		"long texts of one beginning":               {texts.GroupBy("g").Agg(Min("s").As("least"), Max("s").As("most")).Select(expr.Col("least").Eq(a+"b").As("x"), expr.Col("most").Eq(a+"z").As("y")), "true|true false|false"},
		"semi, a condition, keys that repeat":       {left.Join(right, Semi, on, Where("v <> v_right")).Select("v"), "10 20 21 11"},
		"anti, a condition, keys that repeat":       {left.Join(right, Anti, on, Where("v <> v_right")).Select("v"), "30 40 50"},
		"anti, one of the matches":                  {left.Join(right, Anti, on, Where("v + 2 = v_right")).Select("v"), "21 30 40 50 11"},
		"not exists with null keys":                 {left.Join(right, Anti, on).Select("v"), "40 50"},
		"exists with null keys":                     {left.Join(right.Filter("k is null"), Semi, on).Select("v"), ""},
		"a filter, a left join, a limit":            {left.Filter("v > 15").Join(right, Left, on).Head(3).Select("v", "v_right"), "20|20 20|22 21|20"},
		"a limit below a left join":                 {left.Head(2).Join(right, Left, on).Filter("v_right <> 20").Select("v", "v_right"), "10|12 20|22"},
		"a right join of keys alone":                {left.Select("k").Join(right.Select("k"), Right, on), "1 2 2 2 2 3 1 null 9"},
		"a left join against a larger side":         {right.Filter("v = 90").Join(left.Union(left), Left, on).Select("v", "v_right"), "90|null"},
		"a count of no group":                       {none.Agg(Count(), Count("v").As("n"), Sum("v")), "0|0|null"},
		"a count of groups that a filter took away": {left.GroupBy("k").Agg(Count()).Filter("count > 5").Agg(Count()), "0"},
		"a condition that others protect":           {left.Filter("v > 10").Filter(expr.Lit(100).DivChecked(expr.Col("v").Sub(10)).Gt(9)).Select("v"), "20 11"},
		"a cast that a condition protects":          {left.Filter("v < 50").WithColumn("t", expr.Col("v").Mul(3).Cast(arrow.PrimitiveTypes.Int8)).Filter("t > 100").Select("v"), "40"},
	} {
		var want []string
		if c.want != "" {
			want = strings.Split(c.want, " ")
		}
		for _, rows := range []string{"3", ""} {
			t.Setenv(morselVariable, rows)
			for _, off := range append([]string{"", "all"}, rules...) {
				t.Setenv("VOLLEY_OPTIMISER", strings.TrimSuffix("-"+off, "-"))
				equalRows(t, name+" without "+off, collect(t, c.q), want)
			}
			t.Setenv("VOLLEY_OPTIMISER", "")
			for _, trial := range slots.Trials() {
				end := trial.Begin()
				got := collect(t, c.q)
				end()
				equalRows(t, name+", "+trial.Name, got, want)
			}
		}
	}
}

// Sums of decimals are exact past 64 bits, and of 38 digits an error past those.
func TestSumsOfDecimalsDoNotWrap(t *testing.T) {
	b := testBackend(t)
	n := 40
	price, widest := &arrow.Decimal128Type{Precision: 18, Scale: 0}, &arrow.Decimal128Type{Precision: 38, Scale: 0}
	values := make([]int64, n)
	for i := range values {
		values[i] = 999_999_999_999_999_999
	}
	table, err := New(b, Column("x", values), Column("g", make([]int64, n)))
	require.NoError(t, err)
	defer table.Release()
	for _, rows := range []string{"3", ""} {
		t.Setenv(morselVariable, rows)
		for _, keys := range [][]any{nil, {"g"}} {
			sums := From(table).WithColumn("d", expr.Col("x").Cast(price)).GroupBy(keys...).Agg(Sum("d").As("s")).Select("s")
			equalRows(t, "exact", collect(t, sums), []string{"39999999999999999960"})
			wide := From(table).WithColumn("d", expr.Col("x").Cast(widest).Mul(expr.Lit("10000000000000000000").Cast(&arrow.Decimal128Type{Precision: 20, Scale: 0})).Cast(widest))
			_, err := wide.GroupBy(keys...).Agg(Sum("d")).Collect(t.Context())
			var overflow *kernels.OverflowError
			require.ErrorAs(t, err, &overflow)
			require.Equal(t, kernels.Sum, overflow.Op)
			require.ErrorIs(t, err, device.ErrValue)
			require.ErrorContains(t, err, "the sum does not fit decimal(38, 0)")
			require.Equal(t, int32(38), overflow.Type.(*arrow.Decimal128Type).Precision)
			require.ErrorContains(t, err, "sum(d)")
		}
	}
}

// A word in VOLLEY_OPTIMISER that is no rule is an error that names variable and word and lists the rules, wherever
// a query begins.
func TestWordsThatAreNoRule(t *testing.T) {
	b := testBackend(t)
	table, err := New(b, Column("k", seriesOf(3)))
	require.NoError(t, err)
	defer table.Release()
	q := From(table).Filter("k > 0")
	for text, word := range map[string]string{"-joinordr": "-joinordr", "joinorder": "joinorder", "-none": "-none", "-joinorder,ties": "ties", "-ties, -": "-", "all": "all", "-ties,": "", ",": ""} {
		t.Setenv("VOLLEY_OPTIMISER", text)
		begins := map[string]func() error{
			"Collect": func() error { _, err := q.Collect(t.Context()); return err },
			"Batches": func() (failed error) {
				for b, err := range q.Batches(t.Context()) {
					require.Nil(t, b)
					failed = err
				}
				return failed
			},
			"Profile":     func() error { _, _, err := q.Profile(t.Context()); return err },
			"Explain":     func() error { _, err := q.Explain(t.Context()); return err },
			"ExplainJSON": func() error { _, err := q.ExplainJSON(t.Context()); return err },
			"Schema":      func() error { _, err := q.Schema(t.Context()); return err },
		}
		for name, begin := range begins {
			err := begin()
			require.ErrorIs(t, err, device.ErrMismatch, name)
			require.ErrorContains(t, err, fmt.Sprintf("VOLLEY_OPTIMISER=%q: %q is no rule", text, word), name)
			for _, r := range append([]string{"all"}, rules...) {
				require.ErrorContains(t, err, "-"+r, name)
			}
		}
	}
	for _, text := range []string{"", " ", "-ties", " -ties , -all", "-" + strings.Join(rules, ",-")} {
		t.Setenv("VOLLEY_OPTIMISER", text)
		require.Len(t, collect(t, q), 2, text)
	}
}

// twoSides are tables whose columns have the same names, and a third with few keys.
func twoSides(t *testing.T) (large, small, few *Query) {
	b := testBackend(t)
	made := func(rows int, at, of func(int64) int64) *Query {
		k, v := make([]int64, rows), make([]int64, rows)
		for i := range k {
			k[i], v[i] = at(int64(i)), of(int64(i))
		}
		table, err := New(b, Column("k", k), Column("v", v), Column("w", v))
		require.NoError(t, err)
		t.Cleanup(table.Release)
		return From(table)
	}
	large = made(4000, func(i int64) int64 { return i % 500 }, func(i int64) int64 { return i })
	small = made(400, func(i int64) int64 { return (i * 7) % 500 }, func(i int64) int64 { return i % 90 })
	few = made(8, func(i int64) int64 { return i * 3 }, func(i int64) int64 { return 10 * i })
	return large, small, few
}

// A join whose right side is the larger one is run with its sides exchanged, and the keys that it hands down are those of
// the side that is built then, for the rows of the other one.
func TestSidesAreExchangedWithTheirKeys(t *testing.T) {
	large, small, few := twoSides(t)
	t.Setenv(morselVariable, "16")
	for name, c := range map[string]struct {
		q    *Query
		want string
	}{
		"two": {few.Filter("v < 50").Join(large.Filter("v > 100"), Inner, On("k")).GroupBy("v").Agg(Count(), Sum("v_right"), Sum("w_right")).Sort(Asc("v")), `
sort by v
  group by v: count(*) as count, sum(v_right) as sum_v_right, sum(w_right) as sum_w_right
    inner join on k = k, keys 1 of k
      filter v > 100 and k in keys 1
        table of 4000 rows in 1 chunks
      filter v < 50
        table of 8 rows in 1 chunks`},
		"three": {few.Join(small, Inner, On("k")).Join(large, Inner, On("k"), Suffix("_2")).GroupBy("v").Agg(Count(), Sum("v_right"), Sum("w_2"), Sum("v_2")).Sort(Asc("v")), `
sort by v
  group by v: count(*) as count, sum(v_right) as sum_v_right, sum(w_2) as sum_w_2, sum(v_2) as sum_v_2
    inner join on k = k
      table of 4000 rows in 1 chunks
      inner join on k = k
        table of 400 rows in 1 chunks
        table of 8 rows in 1 chunks`},
	} {
		for _, off := range []string{"", "-reduce"} {
			t.Setenv("VOLLEY_OPTIMISER", "-all")
			want := collect(t, c.q)
			require.NotEmpty(t, want, name)
			t.Setenv("VOLLEY_OPTIMISER", off)
			equalRows(t, name, collect(t, c.q), want)
			requireShape(t, name, c.q, c.want)
		}
	}
}

// requireShape holds a plan's shape against one, where the columns of tables are looked at.
func requireShape(t *testing.T, name string, q *Query, want string) {
	t.Helper()
	if q.backend.Device.Memory().Place().HostAccessible() {
		require.Equal(t, strings.TrimSpace(want), shape(t, q), name)
	}
}

// Keys that are handed down go to the side that the join's key is of where both sides, and tables below them, have
// columns of that name.
func TestKeysOfOneNameOnBothSides(t *testing.T) {
	large, small, few := twoSides(t)
	t.Setenv(morselVariable, "16")
	for name, c := range map[string]struct {
		q    *Query
		want string
	}{
		"the left of two tables": {large.Join(small, Inner, Keys("v", "v")).Join(few, Inner, On("k"), Suffix("_3")).Select("k", "k_right"), `
inner join on k = k, keys 1 of k
  inner join on v = v
    filter k in keys 1
      table of 4000 rows in 1 chunks
    table of 400 rows in 1 chunks
  table of 8 rows in 1 chunks`},
		"the right of two tables": {large.Join(small, Inner, Keys("v", "v")).Join(few, Inner, Keys("k_right", "k"), Suffix("_3")).Select("k", "k_right"), `
inner join on k_right = k
  inner join on v = v
    table of 4000 rows in 1 chunks
    table of 400 rows in 1 chunks
  table of 8 rows in 1 chunks`},
		"a name that changed its column": {large.Select(expr.Col("v").As("k"), expr.Col("k").As("v"), "w").Join(small, Inner, Keys("v", "k")).Join(few, Semi, On("k")), `
semi join on k = k, keys 1 of k
  inner join on v = k
    select v as k, k as v, w
      filter v in keys 1
        table of 4000 rows in 1 chunks
    table of 400 rows in 1 chunks
  table of 8 rows in 1 chunks`},
		"one side twice": {large.Join(few, Semi, Keys("k", "v")).Join(few, Semi, Keys("v", "k")), `
semi join on v = k, keys 1 of k
  semi join on k = v
    filter v in keys 1
      table of 4000 rows in 1 chunks
    table of 8 rows in 1 chunks
  table of 8 rows in 1 chunks`},
	} {
		t.Setenv("VOLLEY_OPTIMISER", "-all")
		want := collect(t, c.q)
		require.NotEmpty(t, want, name)
		onlyRule(t, ruleJoinFilter)
		equalRows(t, name, collect(t, c.q), want)
		requireShape(t, name, c.q, c.want)
	}
}

// countedSource gives a table in batches of a few rows, and counts those that are left.
type countedSource struct {
	*Table
	left  *atomic.Int64       // batches that were not given
	begun func(o ScanOptions) // called when it is opened
}

func (s countedSource) Name() string                                  { return "a counted table" }
func (s countedSource) Schema(context.Context) (*arrow.Schema, error) { return s.Table.Schema(), nil }

func (s countedSource) Scan(_ context.Context, _ *kernels.Backend, o ScanOptions) (BatchReader, error) {
	s.begun(o)
	return &countedReader{countedSource: s, o: o}, nil
}

type countedReader struct {
	countedSource
	at int64
	o  ScanOptions
}

func (r *countedReader) Close() error { return nil }

func (r *countedReader) Next(context.Context) (*Batch, error) {
	const rows = 3
	runtime.Gosched()
	whole := r.Chunks()[0]
	if r.at >= whole.Len() {
		return nil, io.EOF
	}
	b, err := whole.Slice(r.at, min(rows, whole.Len()-r.at))
	if err != nil {
		return nil, err
	}
	r.at += rows
	r.left.Store(max(0, whole.Len()-r.at))
	if r.o.Columns == nil {
		return b, nil
	}
	defer b.Release()
	return project(b, subset(b.Schema(), r.o.Columns))
}

// Keys of a build side are handed down when all of them are there, whoever has read them: the probe side
// is not opened before the last row of the build side was given, and no key is missed.
func TestKeysAreHandedDownWhole(t *testing.T) {
	b := testBackend(t)
	fact, err := New(b, Column("k", make([]int64, 4000)), Column("v", seriesOf(4000)))
	require.NoError(t, err)
	defer fact.Release()
	part, err := New(b, Column("p", seriesOf(40)), Column("w", seriesOf(40)))
	require.NoError(t, err)
	defer part.Release()
	left, opened := new(atomic.Int64), 0
	small := Scan(countedSource{part, left, func(ScanOptions) { left.Store(part.NumRows()) }}).On(b)
	large := Scan(countedSource{fact, new(atomic.Int64), func(ScanOptions) {
		opened++
		require.Zero(t, left.Load(), "the probe side is opened before the build side is read")
	}}).On(b).WithColumn("k", "v % 80")
	q := large.Join(small, Inner, Keys("k", "p")).GroupBy("k").Agg(Count(), Max("v"))
	t.Setenv(morselVariable, "16")
	t.Setenv("VOLLEY_OPTIMISER", "-all")
	want := collect(t, q)
	require.Len(t, want, 40)
	t.Setenv("VOLLEY_OPTIMISER", "-joinorder,-reduce")
	counts, times := []int{1, 2, 8}, 5
	if !backends.OnHost() { // which has one worker
		counts, times = counts[:1], 1
	}
	for _, workers := range counts {
		for range times {
			ctx := exec.WithHooks(t.Context(), &exec.Hooks{Workers: workers, Turn: func(context.Context) { runtime.Gosched() }})
			got, err := q.Collect(ctx)
			require.NoError(t, err)
			equalRows(t, "keys of all batches", collect(t, From(got)), want)
			got.Release()
		}
	}
	require.Equal(t, 1+len(counts)*times, opened)
}
