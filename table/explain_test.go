package table

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/memory"
)

// TestExplain shows what the optimiser makes of plans.
func TestExplain(t *testing.T) {
	b := testBackend(t)
	table := tableOf(t, b, randomRecs(40, 5, 1), 2, 1)
	var asked []ScanOptions
	file := Scan(memorySource{table: table, asked: &asked}).On(b)
	for want, q := range map[string]*Query{
		`
scan memory.test`: file,
		`
filter k > 3
  scan memory.test columns [id, k] where k > 3`: file.Filter("k > 3").Select("id", "k").Select("id", "k"),
		`
filter mean_v is not null
  group by s: mean(v) as mean_v
    filter s > 'b'
      scan memory.test columns [v, s] where s > 'b'`: file.GroupBy("s").Agg(Mean("v"), Count()).Filter("mean_v is not null and s > 'b'").Drop("count").Select("s", "mean_v"),
		`
top 3 by w desc
  select id, id * 2 as w
    scan memory.test columns [id]`: file.Select("id", expr.Col("id").Mul(2).As("w")).Sort(Desc("w")).Head(3),
		`
limit 5
  scan memory.test columns [s] limit 5`: file.Select("s").Head(5),
		`
limit 2 from 3
  top 5 by k
    table of 40 rows in 2 chunks, columns [id, k, v, s]`: From(table).Sort(Asc("k")).Slice(3, 2),
		`
inner join on k = k, keys 1 of k columns [id, s_right]
  filter v > 0.0
    scan memory.test columns [id, k, v] where v > 0.0, bounds of k in keys 1
  filter s = 'a'
    scan memory.test columns [k, s] where s = 'a'`: file.Join(file, Inner, On("k")).Filter("v > 0.0 and s_right = 'a'").Select("id", "s_right"),
		`
filter v_right is null
  left join on k = k columns [id, v_right]
    scan memory.test columns [id, k]
    scan memory.test columns [k, v]`: file.Join(file, Left, On("k")).Filter("v_right is null").Select("id"),
		`
aggregate count(*) as count
  scan memory.test columns []`: file.Agg(Count()),
		`
filter 10 / id > 2
  filter id <> 0
    scan memory.test columns [id] where id <> 0`: file.Filter("id <> 0").Filter("10 / id > 2").Select("id"),
		`
union
  filter k = 1
    scan memory.test columns [id, k] where k = 1
  filter k = 1
    table of 40 rows in 2 chunks, columns [id, k]`: file.Union(table).Filter("k = 1").Select("id"),
	} {
		got, err := q.Explain(t.Context())
		if err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		if unguessed(got) != strings.TrimSpace(want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

// Explain ends with the pipelines: their sources, steps and takers, who runs them, and where keys that joins hand
// down go. A plan without a step has none.
func TestExplainShowsPipelines(t *testing.T) {
	large, small, few := twoSides(t)
	b := few.backend
	scanned := Scan(statedSource{tableSource{large.plan.(*tableNode).table}, map[string][2]int64{"k": {0, 499}}}).On(b)
	t.Setenv(morselVariable, "16")
	by := "workers"
	if b.Device.Place() != memory.Host {
		by = b.Device.Name()
	}
	for name, c := range map[string]struct {
		q    *Query
		want string
	}{
		"no step": {few, ""},
		"a sort":  {few.Sort(Asc("k")).Select("k"), ""},
		"a join": {large.Filter("v > 3").Join(few, Inner, On("k")).GroupBy("k").Agg(Count()), `
  1  BY  table of 4000 rows in 1 chunks -> filter -> inner join on k = k -> group by k`},
		"two": {large.Join(small.Filter("v > 3"), Left, On("k")).Join(few, Semi, On("k")).TopK(3, Asc("v")), `
  1  BY  table of 400 rows in 1 chunks -> filter -> right side of left join on k = k
  2  BY  table of 4000 rows in 1 chunks -> left join on k = k -> semi join on k = k -> top 3 by v`},
		"a scalar": {large.WithScalar("m", few.Filter("k > 1").Agg(Max("v"))).Filter("v > m"), `
  1  BY  table of 8 rows in 1 chunks -> filter -> aggregate max(v) as max_v
  2  BY  table of 4000 rows in 1 chunks -> filter -> select -> result`},
		"a union": {few.Filter("v > 1").Union(small.Filter("v > 2")), `
  1  BY  table of 8 rows in 1 chunks -> filter -> union
  2  BY  table of 400 rows in 1 chunks -> filter -> union`},
		"keys": {scanned.Filter("v > 3").Join(few.Filter("v > 0"), Semi, On("k")).Join(few, Inner, Keys("v", "v"), Suffix("_2")).Agg(Count()), `
  1  BY  table of 8 rows in 1 chunks -> filter -> right side of semi join on k = k
  2  BY  scan a table -> filter -> semi join on k = k -> inner join on v = v -> aggregate count(*) as count
  keys 1: k of semi join on k = k -> k of scan a table
  keys 2: v of inner join on v = v -> v of filter, v of scan a table`},
	} {
		text, err := c.q.Explain(t.Context())
		require.NoError(t, err)
		_, got, _ := strings.Cut(text, "pipelines:\n")
		if !b.Device.Memory().Place().HostAccessible() { // where no columns are looked at, and plans are others
			require.True(t, c.want == "" || strings.Contains(got, "  1  "+by+"  "), text)
			continue
		}
		require.Equal(t, strings.ReplaceAll(strings.TrimPrefix(c.want, "\n"), "BY", by), strings.TrimSuffix(got, "\n"), name)
	}
}

// TestSourcesAreAskedForLittle: what a source is given is what Explain says, and
// the rows are filtered all the same.
func TestSourcesAreAskedForLittle(t *testing.T) {
	b := testBackend(t)
	recs := randomRecs(200, 5, 2)
	table := tableOf(t, b, recs, 3, 2)
	var asked []ScanOptions
	got := collect(t, Scan(memorySource{table: table, asked: &asked}).On(b).Filter("k = 3").Select("id"))
	equalRows(t, "filtered", got, collect(t, From(table).Filter("k = 3").Select("id")))
	if len(asked) != 1 || strings.Join(asked[0].Columns, " ") != "id k" || asked[0].Predicate.String() != "k = 3" {
		t.Errorf("asked for %+v", asked)
	}
	collect(t, Scan(memorySource{table: table, asked: &asked}).On(b).Agg(Count()))
	if asked[1].Columns == nil || len(asked[1].Columns) != 0 {
		t.Errorf("asked for %+v", asked[1])
	}
}

// Explain says how many rows it guesses of what leaves rows out or makes others: by the bounds,
// the number of values and the nulls of columns.
func TestExplainGuessesRows(t *testing.T) {
	fact, part, shop, _ := star(t, 1700) // 100 of them without a part
	if !fact.Backend().Device.Memory().Place().HostAccessible() {
		return // columns on a device are not looked at
	}
	for want, q := range map[string]*Query{
		"filter v < 170 (about 170 rows)":                         From(fact).Filter("v < 170"),
		"filter v >= 400 and v < 825 (about 425 rows)":            From(fact).Filter("v >= 400 and v < 825"),
		"filter pk = 3 (about 1 rows)":                            From(part).Filter("pk = 3"),
		"filter pk = 300 (about 0 rows)":                          From(part).Filter("pk = 300"),
		"filter pk in (1, 2, 3) (about 3 rows)":                   From(part).Filter("pk in (1, 2, 3)"),
		"filter colour = 'colour 3' (about 10 rows)":              From(part).Filter("colour = 'colour 3'"),
		"filter colour = 'colour 3' or pk < 50 (about 55 rows)":   From(part).Filter("colour = 'colour 3' or pk < 50"),
		"group by town: count(*) as count (about 4 rows)":         From(shop).GroupBy("town").Agg(Count()),
		"distinct on [shop] (about 20 rows)":                      From(fact).Select("shop").Distinct(),
		"inner join on shop = sk columns [v] (about 1700 rows)":   From(fact).Join(shop, Inner, Keys("shop", "sk")).Select("v"),
		"semi join on sk = shop columns [town] (about 20 rows)":   From(shop).Join(fact, Semi, Keys("sk", "shop")).Select("town"),
		"left join on sk = shop columns [town] (about 1700 rows)": From(shop).Join(fact, Left, Keys("sk", "shop")).Select("town"),
	} {
		got, err := q.Explain(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, strings.SplitN(got, "\n", 2)[0])
	}
}

// A query says what columns it gives before it runs, and Head(0) gives them without a row read.
func TestSchemaReadsNoRow(t *testing.T) {
	b := testBackend(t)
	table := tableOf(t, b, randomRecs(40, 5, 1), 2, 1)
	var asked []ScanOptions
	file := Scan(memorySource{table: table, asked: &asked}).On(b)
	other := file.GroupBy("k").Agg(Mean("v"))
	for what, q := range map[string]*Query{
		"a sort":   file.Sort(Desc("v")),
		"groups":   other,
		"a join":   file.Join(other, Left, On("k")),
		"distinct": file.Select("s").Distinct(),
		"a union":  file.Union(file),
		"a scalar": file.WithScalar("mean", file.Agg(Mean("v"))).Filter("v > mean"),
	} {
		schema, err := q.Schema(t.Context())
		require.NoError(t, err)
		require.Empty(t, asked, what)
		none, err := q.Head(0).Collect(t.Context())
		require.NoError(t, err)
		require.Truef(t, schema.Equal(none.Schema()), "%s: %s\n%s", what, schema, none.Schema())
		none.Release()
		if what != "a scalar" { // its query is run
			require.Empty(t, asked, what)
		}
		asked = nil
		all := collect(t, q)
		require.NotEmpty(t, all, what)
		asked = nil
	}
	_, err := file.Filter("nothing > 3").Schema(t.Context())
	require.ErrorContains(t, err, `unknown column "nothing"`)
}
