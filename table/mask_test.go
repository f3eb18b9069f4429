package table

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
)

var regexpMask = regexp.MustCompile("as a mask where most rows stay")

// Groups above a filter that keeps most rows are those of the rows that it keeps: with every aggregate
// that can be made of parts, null masks, null keys, values and sums that only other rows fail at, and few or many groups.
func TestGroupsOfMaskedRows(t *testing.T) {
	t.Setenv(morselVariable, "200")
	b := testBackend(t)
	n := 4000
	key, text, v, small, ok := make([]int64, n), make([]string, n), make([]int64, n), make([]int64, n), make([]bool, n)
	valid := make([]bool, n)
	for i := range n {
		key[i], text[i], v[i], small[i], ok[i] = int64(i%3), []string{"a", "bc", ""}[i*7%3], int64(i), int64(i%100), i%10 != 4
		valid[i] = i%11 != 5
		if !ok[i] {
			v[i], small[i] = math.MaxInt64, 130
		}
	}
	all, err := New(b, Column("key", key).Valid(valid), Column("text", text), Column("v", v), Column("small", small), Column("ok", ok), Column("id", seriesOf(n)))
	require.NoError(t, err)
	defer all.Release()
	kept := From(all).Filter("small < 120")
	host := b.Device.Memory().Place().HostAccessible()
	price := &arrow.Decimal128Type{Precision: 12, Scale: 2}
	for name, c := range map[string]struct {
		q      *Query
		masked bool
	}{
		"each aggregate":                 {kept.GroupBy("key", "text").Agg(Sum("id"), Count(), Count("key").As("keys"), Min("id").As("least"), Max("id").As("most"), Mean("id").As("mean"), First("id").As("first"), Last("id").As("last")), true},
		"sums that only others exceed":   {kept.GroupBy("text").Agg(Sum("v")), true},
		"casts that only others fail at": {kept.WithColumn("s", expr.Col("small").Cast(arrow.PrimitiveTypes.Int8)).GroupBy("text").Agg(Sum("s"), Max("s").As("most")), true},
		"decimals":                       {kept.WithColumn("d", expr.Col("small").Cast(price)).GroupBy("key").Agg(Sum("d"), Mean("d").As("mean")), true},
		"floats":                         {kept.WithColumn("f", "id * 0.25").GroupBy("key").Agg(Sum("f"), Mean("f").As("mean")), true},
		"null masks":                     {From(all).Filter("key < 2 or id > 30").GroupBy("text").Agg(Count(), Sum("id")), true},
		"null keys are left out":         {kept.GroupBy("key").DropNullKeys().Agg(Count(), Sum("id")), true},
		"a bool as a key":                {kept.WithColumn("odd", "id % 2 = 1").GroupBy("odd", "text").Agg(Count()), true},
		"many groups":                    {kept.GroupBy("id").Agg(Sum("small"), Count()), false},
		"more groups than guessed":       {kept.GroupBy(expr.Col("id").Mul(400).Cast(arrow.PrimitiveTypes.Int32).Cast(arrow.FixedWidthTypes.Date32).Year().As("y")).Agg(Sum("small"), Count()), true},
		"any order":                      {kept.Filter("id < 3000").GroupBy("text").AnyOrder().Agg(Count()).Sort(Asc("text")), false},
		"a group that is left out":       {From(all).Filter("text <> 'bc'").GroupBy("text").Agg(Count(), First("id").As("first")), true},
		"the first row is left out":      {From(all).Filter("id > 0").GroupBy("text").Agg(Count(), First("id").As("first")), true},
		"not of parts":                   {kept.GroupBy("text").Agg(CountDistinct("small")), true},
		"few rows stay":                  {From(all).Filter("id < 100").GroupBy("text").Agg(Count()), false},
		"no keys":                        {kept.Agg(Count(), Sum("id")), false},
		"all rows stay":                  {From(all).Filter("id >= 0").GroupBy("text").Agg(Count()), true},
	} {
		onlyRule(t, ruleMask)
		if host && name != "any order" {
			plan := shape(t, c.q)
			require.Equal(t, c.masked, regexpMask.MatchString(plan), "%s\n%s", name, plan)
		}
		sameUnder(t, ruleMask, name, c.q)
		sameRows(t, name, c.q)
	}
	t.Setenv("VOLLEY_OPTIMISER", "-mask")
	require.NotRegexp(t, regexpMask, shape(t, kept.GroupBy("text").Agg(Count())))
	t.Setenv("VOLLEY_OPTIMISER", "")
	_, err = From(all).Filter("id <> 7").GroupBy("text").Agg(Sum("v")).Collect(t.Context())
	require.Error(t, err, "a sum that rows that are kept exceed")
}

// The mask stands for rows in every other group step of a morsel, too: a profile counts rows as they are.
func TestMaskedProfile(t *testing.T) {
	b := testBackend(t)
	n := 70_000
	all, err := New(b, Column("id", seriesOf(n)), Column("x", make([]int64, n)))
	require.NoError(t, err)
	defer all.Release()
	got, p, err := From(all).Filter("id > 100").GroupBy("x").Agg(Count().As("n")).Profile(t.Context())
	require.NoError(t, err)
	defer got.Release()
	require.Contains(t, shown(got)[0], "69899")
	require.NotNil(t, p)
}

// A join of rows that a filter keeps is that of the table of those rows, whichever columns its stages read:
// with texts, nulls, dates, decimals and bools, few, most and no rows kept, and every kind of join.
func TestJoinsOfSelectedRows(t *testing.T) {
	t.Setenv(morselVariable, "200")
	b := testBackend(t)
	n := 3000
	key, text, long, v, ok, day, valid := make([]int64, n), make([]string, n), make([]string, n), make([]float64, n), make([]bool, n), make([]int32, n), make([]bool, n)
	for i := range n {
		key[i], text[i], long[i], v[i] = int64(i*7%500), []string{"a", "bc", ""}[i*7%3], strings.Repeat("xyz ", i%5)+"end", float64(i%90)
		ok[i], day[i], valid[i] = i%4 != 1, int32(9000+i%300), i%11 != 5
	}
	all, err := New(b, Column("key", key).Valid(valid), Column("text", text).Valid(valid), Column("long", long), Column("v", v), Column("ok", ok), Column("day", day).Of(arrow.FixedWidthTypes.Date32), Column("id", seriesOf(n)))
	require.NoError(t, err)
	defer all.Release()
	right := From(all).Filter("id % 3 = 0 and id < 900").Select("key", "id", "long").RenameColumns(map[string]string{"id": "r", "long": "far"})
	for _, cond := range []string{
		"v < 20 and text = 'bc'", "long like '%xyz%' and text <> 'a' and v >= 80", "text in ('a', 'bc') and long like '%z e%'",
		"text is null and ok", "v < 5 and v > 7 and text = 'a'", "text = 'none' and long like 'x%'", "v >= 0 and text <> 'zz' and long like '%end'",
		"day < date '1994-10-01' and ok and (text = 'a' or v > 50)", "v > 10 and substring(long, 1, 3) = 'xyz' and text >= 'b'", "id >= 0",
	} {
		plain, err := From(all).WithColumn("stays", cond).Filter("stays").Drop("stays").Collect(t.Context())
		require.NoError(t, err, cond)
		kept := From(all).Filter(cond)
		sameTables(t, cond, From(plain), kept)
		for _, kind := range []Kind{Inner, Left, Right, Full, Semi, Anti} {
			join := func(q *Query) *Query { return q.Join(right, kind, On("key")) }
			sameTables(t, cond+" "+kind.String(), join(From(plain)), join(kept))
		}
		where := func(q *Query) *Query { return q.Join(right, Left, On("key"), Where("v < r")) }
		sameTables(t, cond+" where", where(From(plain)), where(kept))
		twice := func(q *Query) *Query {
			return q.Join(right.Select("key"), Semi, On("key")).Filter("text <> 'bc' and v < 70").Join(right, Inner, On("key"))
		}
		sameTables(t, cond+" twice", twice(From(plain)), twice(kept))
		plain.Release()
	}
}

// sameTables holds the rows of a query against those of another.
func sameTables(t *testing.T, name string, want, got *Query) {
	t.Helper()
	a, err := want.Collect(t.Context())
	require.NoError(t, err, name)
	defer a.Release()
	c, err := got.Collect(t.Context())
	require.NoError(t, err, name)
	defer c.Release()
	require.Equal(t, shown(a), shown(c), name)
}
