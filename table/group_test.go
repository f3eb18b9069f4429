package table

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
)

// grouped aggregates by plain loops: key|count|count v|sum|mean|min|max|first
// id|share of v > 10.
func grouped(recs []rec, key func(rec) string) []string {
	type state struct {
		rows, n, sumID, over int64
		sum, low, high       float64
		first                string
	}
	groups := map[string]*state{}
	var order []string
	for _, r := range recs {
		k := key(r)
		g, ok := groups[k]
		if !ok {
			g = &state{low: math.Inf(1), high: math.Inf(-1), first: "null"}
			groups[k] = g
			order = append(order, k)
		}
		g.rows++
		g.sumID += r.id
		if r.s != nil && g.first == "null" {
			g.first = *r.s
		}
		if r.v == nil {
			continue
		}
		g.n++
		g.sum += *r.v
		g.low, g.high = min(g.low, *r.v), max(g.high, *r.v)
		if *r.v > 10 {
			g.over++
		}
	}
	var out []string
	for _, k := range order {
		g := groups[k]
		line := []string{k, fmt.Sprint(g.rows), fmt.Sprint(g.n), fmt.Sprint(g.sumID)}
		if g.n == 0 {
			line = append(line, "null", "null", "null", "null", g.first, "null")
		} else {
			line = append(line, fmt.Sprint(g.sum), fmt.Sprint(g.sum/float64(g.n)), fmt.Sprint(g.low), fmt.Sprint(g.high), g.first, fmt.Sprint(float64(g.over)/float64(g.n)))
		}
		out = append(out, strings.Join(line, "|"))
	}
	return out
}

var someAggregates = []Aggregate{
	Count(), Count("v"), Sum("id"), Sum("v").As("total"), Mean("v"), Min("v"), Max("v"), First("s"), Share(expr.Col("v").Gt(10)),
}

func TestGroupByEqualsPlainGo(t *testing.T) {
	b := testBackend(t)
	for seed, s := range shapes {
		recs := randomRecs(s.rows, 7, uint64(seed))
		table := tableOf(t, b, recs, s.chunks, uint64(seed))
		q := From(table)
		what := fmt.Sprintf("seed %d: ", seed)
		equalRows(t, what+"one key", collect(t, q.GroupBy("k").Agg(someAggregates...)), grouped(recs, func(r rec) string { return show(r.k) }))
		equalRows(t, what+"two keys", collect(t, q.GroupBy("k", "s").Agg(someAggregates...)),
			grouped(recs, func(r rec) string { return show(r.k) + "|" + show(r.s) }))
		equalRows(t, what+"an expression as key", collect(t, q.GroupBy(expr.Col("id").Mod(3).As("m")).Agg(someAggregates...)),
			grouped(recs, func(r rec) string { return fmt.Sprint(r.id % 3) }))
		var known []rec
		for _, r := range recs {
			if r.k != nil {
				known = append(known, r)
			}
		}
		equalRows(t, what+"null keys dropped", collect(t, q.GroupBy("k").DropNullKeys().Agg(someAggregates...)),
			grouped(known, func(r rec) string { return show(r.k) }))
	}
}

func TestAggregateOfAllRows(t *testing.T) {
	b := testBackend(t)
	for seed, s := range shapes {
		recs := randomRecs(s.rows, 7, uint64(seed))
		want := []string{"0|0|null|null|null|null|null|null|null"}
		if s.rows > 0 {
			want = []string{grouped(recs, func(rec) string { return "" })[0][1:]}
		}
		got := collect(t, From(tableOf(t, b, recs, s.chunks, uint64(seed))).Agg(someAggregates...))
		equalRows(t, fmt.Sprintf("seed %d", seed), got, want)
	}
}

// TestAggregatesThatNeedAllRows: variance and distinct counts of many chunks.
func TestAggregatesThatNeedAllRows(t *testing.T) {
	b := testBackend(t)
	recs := randomRecs(1000, 4, 8)
	aggs := []Aggregate{CountDistinct("s"), Var("v"), Std("v").With(kernels.AggregateOptions{Ddof: 1}).As("sd"), Product(expr.Lit(1)), Last("id")}
	one := collect(t, From(tableOf(t, b, recs, 1, 8)).GroupBy("k").Agg(aggs...))
	many := collect(t, From(tableOf(t, b, recs, 6, 8)).GroupBy("k").Agg(aggs...))
	equalRows(t, "chunks", many, one)
	distinct := map[string]map[string]bool{}
	for _, r := range recs {
		if distinct[show(r.k)] == nil {
			distinct[show(r.k)] = map[string]bool{}
		}
		if r.s != nil {
			distinct[show(r.k)][*r.s] = true
		}
	}
	for _, line := range one {
		cells := strings.Split(line, "|")
		if cells[1] != fmt.Sprint(len(distinct[cells[0]])) {
			t.Errorf("%s: %d distinct texts", line, len(distinct[cells[0]]))
		}
	}
}

func TestAggregateNames(t *testing.T) {
	for want, a := range map[string]Aggregate{
		"count": Count(), "count_v": Count("v"), "mean_delay": Mean("delay"), "x": Sum("v").As("x"),
		"max_top": Max(expr.Col("a").Add(1).As("top")), "mean_a > 1": Mean(expr.Col("a").Gt(1)), "share_late": Share(expr.Col("a").Gt(1).As("late")),
		"count_distinct_s": CountDistinct("s"),
	} {
		if a.Name() != want {
			t.Errorf("%q, want %q", a.Name(), want)
		}
	}
}
