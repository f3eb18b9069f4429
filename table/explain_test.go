package table

import (
	"strings"
	"testing"

	"github.com/volley-go/volley/expr"
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
inner join on k = k columns [id, s_right]
  filter v > 0.0
    scan memory.test columns [id, k, v] where v > 0.0
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
		if strings.TrimSpace(got) != strings.TrimSpace(want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
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
