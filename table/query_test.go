package table

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley/expr"
)

func keep2(recs []rec, f func(rec) bool) []string {
	var out []string
	for _, r := range recs {
		if f(r) {
			out = append(out, r.String())
		}
	}
	return out
}

// shapes are row counts and numbers of chunks that operations are tried on.
var shapes = []struct{ rows, chunks int }{{0, 1}, {1, 1}, {40, 1}, {300, 3}, {2000, 7}}

func TestFilterEqualsPlainGo(t *testing.T) {
	b := testBackend(t)
	for seed, s := range shapes {
		recs := randomRecs(s.rows, 10, uint64(seed))
		table := tableOf(t, b, recs, s.chunks, uint64(seed))
		what := fmt.Sprintf("seed %d", seed)
		equalRows(t, what, collect(t, From(table).Filter("k > 3 and v < 50")),
			keep2(recs, func(r rec) bool { return r.k != nil && *r.k > 3 && r.v != nil && *r.v < 50 }))
		equalRows(t, what, collect(t, From(table).Filter(expr.Col("k").IsNull()).Filter("s = 'a' or s is null")),
			keep2(recs, func(r rec) bool { return r.k == nil && (r.s == nil || *r.s == "a") }))
		equalRows(t, what, collect(t, From(table).Filter("true")), keep2(recs, func(rec) bool { return true }))
		equalRows(t, what, collect(t, From(table).Filter("k > 100")), nil)
		equalRows(t, what, collect(t, From(table).Filter("v <> 0").Filter("100 / cast(v * 4 as int64) > 20").Select("id")),
			mapRecs(recs, func(r rec) (string, bool) {
				return fmt.Sprint(r.id), r.v != nil && *r.v != 0 && 100/int64(*r.v*4) > 20
			}))
	}
}

func mapRecs(recs []rec, f func(rec) (string, bool)) []string {
	var out []string
	for _, r := range recs {
		if s, ok := f(r); ok {
			out = append(out, s)
		}
	}
	return out
}

func TestColumnsAreComputedRenamedAndDropped(t *testing.T) {
	b := testBackend(t)
	recs := randomRecs(500, 10, 3)
	table := tableOf(t, b, recs, 3, 3)
	q := From(table).WithColumn("twice", "id * 2").WithColumn("k", expr.Col("k").FillNull(-1)).
		Rename("s", "text").Drop("v").Filter("twice >= 10 and k < 5")
	equalRows(t, "edit", collect(t, q), mapRecs(recs, func(r rec) (string, bool) {
		k := int64(-1)
		if r.k != nil {
			k = *r.k
		}
		return fmt.Sprintf("%d|%d|%s|%d", r.id, k, show(r.s), r.id*2), r.id*2 >= 10 && k < 5
	}))
	equalRows(t, "select", collect(t, From(table).Select("s", expr.Col("id").Add(1).As("next"), expr.Lit("x").As("c")).Slice(2, 3)),
		[]string{show(recs[2].s) + "|3|x", show(recs[3].s) + "|4|x", show(recs[4].s) + "|5|x"})
}

func compareRecs(a, b rec) int {
	if c := cmpNull(b.k, a.k, -1); c != 0 { // k descending, nulls last
		return c
	}
	return cmpNull(a.s, b.s, 1)
}

// cmpNull orders values; a null is last when nulls is 1, first when it is -1.
func cmpNull[T cmp.Ordered](a, b *T, nulls int) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return nulls
	case b == nil:
		return -nulls
	}
	return cmp.Compare(*a, *b)
}

func TestSortAndTopKEqualPlainGo(t *testing.T) {
	b := testBackend(t)
	for seed, s := range shapes {
		recs := randomRecs(s.rows, 6, uint64(seed))
		table := tableOf(t, b, recs, s.chunks, uint64(seed))
		sorted := slices.Clone(recs)
		slices.SortStableFunc(sorted, compareRecs)
		want := keep2(sorted, func(rec) bool { return true })
		q := From(table).Sort(Desc("k"), Asc(expr.Col("s")))
		equalRows(t, "sort", collect(t, q), want)
		for _, k := range []int{0, 1, 7, 1500, 5000} {
			equalRows(t, fmt.Sprintf("top %d", k), collect(t, q.Head(int64(k))), want[:min(k, len(want))])
			from := min(2, len(want))
			equalRows(t, fmt.Sprintf("slice %d", k), collect(t, q.Slice(2, int64(k))), want[from:min(from+k, len(want))])
		}
	}
}

func TestDistinctAndUnionEqualPlainGo(t *testing.T) {
	b := testBackend(t)
	for seed, s := range shapes {
		recs := randomRecs(s.rows, 5, uint64(seed))
		table := tableOf(t, b, recs, s.chunks, uint64(seed))
		seen := map[string]bool{}
		var want, first []string
		for _, r := range recs {
			key := show(r.k) + "|" + show(r.s)
			if !seen[key] {
				seen[key] = true
				want, first = append(want, key), append(first, r.String())
			}
		}
		equalRows(t, "distinct", collect(t, From(table).Select("k", "s").Distinct()), want)
		equalRows(t, "distinct on", collect(t, From(table).Distinct("k", "s")), first)
		all := keep2(recs, func(r rec) bool { return r.id < 10 })
		all = append(all, keep2(recs, func(r rec) bool { return r.id%2 == 1 })...)
		even := From(table).Select("s", "v", "id", "k").Filter("id % 2 = 1")
		equalRows(t, "union", collect(t, From(table).Filter("id < 10").Union(even)), all)
	}
}

// TestPlansAgree: a random chain gives the same rows however the table is
// chunked, and with the optimiser's work done in another order.
func TestPlansAgree(t *testing.T) {
	b := testBackend(t)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 17))
		recs := randomRecs(1+r.IntN(400), 8, seed)
		one, many := tableOf(t, b, recs, 1, seed), tableOf(t, b, recs, 5, seed)
		chain := randomChain(r)
		want := collect(t, chain(From(one), true))
		equalRows(t, fmt.Sprintf("seed %d: chunks", seed), collect(t, chain(From(many), true)), want)
		equalRows(t, fmt.Sprintf("seed %d: step by step", seed), collect(t, chain(From(many), false)), want)
	}
}

// randomChain is a chain of random operations. With fused false every step is
// collected before the next.
func randomChain(r *rand.Rand) func(q *Query, fused bool) *Query {
	steps := []func(*Query) *Query{
		func(q *Query) *Query { return q.Filter("k > 2 or s = 'a'") },
		func(q *Query) *Query { return q.Filter("v > 0") },
		func(q *Query) *Query { return q.WithColumn("w", "id % 3") },
		func(q *Query) *Query { return q.Rename("v", "x").Rename("x", "v") },
		func(q *Query) *Query { return q.Sort(Asc("s"), Desc("v"), Asc("id")) },
		func(q *Query) *Query { return q.Head(50) },
		func(q *Query) *Query { return q.Distinct("k", "s") },
		func(q *Query) *Query { return q.Select("v", "s", "k", "id") },
		func(q *Query) *Query { return q.Union(q) },
		func(q *Query) *Query {
			return q.Join(q.GroupBy("k").Agg(Sum("v").As("total"), Count()), Inner, On("k")).Drop("total", "count")
		},
	}
	var chosen []func(*Query) *Query
	for range 2 + r.IntN(5) {
		chosen = append(chosen, steps[r.IntN(len(steps))])
	}
	return func(q *Query, fused bool) *Query {
		for _, f := range chosen {
			if q = f(q); !fused {
				q = &Query{plan: materialised{q.plan}, backend: q.backend, err: q.err}
			}
		}
		return q
	}
}

// TestEditsAreAllAtOnce: what one call adds or renames is of the columns as they
// were.
func TestEditsAreAllAtOnce(t *testing.T) {
	b := testBackend(t)
	table, err := New(b, Column("a", []int64{1, 2}), Column("b", []int64{3, 4}), Column("c", []int64{5, 6}))
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	q := From(table)
	equalRows(t, "swapped", collect(t, q.WithColumns(expr.Col("b").As("a"), expr.Col("a").As("b"))), []string{"3|1|5", "4|2|6"})
	equalRows(t, "new ones", collect(t, q.WithColumns(expr.Col("a").Add(1).As("a"), expr.Col("a").Add(10).As("d"), "b")), []string{"2|3|5|11", "3|4|6|12"})
	for want, to := range map[string]map[string]string{"b a c": {"a": "b", "b": "a"}, "b c a": {"a": "b", "b": "c", "c": "a"}, "x b c": {"a": "x"}, "a b c": {}} {
		out, err := q.RenameColumns(to).Collect(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(fieldNames(out.Schema()), " "); got != want {
			t.Errorf("%v: %s", to, got)
		}
		equalRows(t, "renamed", shown(out), []string{"1|3|5", "2|4|6"})
		out.Release()
	}
	for what, bad := range map[string]*Query{
		`"a" is given twice`: q.WithColumns(expr.Col("b").As("a"), expr.Col("c").As("a")), `"b"`: q.Rename("a", "b"), `"nix"`: q.RenameColumns(map[string]string{"nix": "x"}),
	} {
		if _, err := bad.Collect(context.Background()); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
