package table

import (
	"fmt"
	"slices"
	"testing"

	"github.com/volley-go/volley/expr"
)

// Groups in any order are those in order of first appearance: over chunks, with
// nulls among keys and values, by numbers and texts, few and all different.
func TestGroupsInAnyOrder(t *testing.T) {
	b := testBackend(t)
	rows := 150_000
	if testing.Short() {
		rows = 15_000
	}
	tables := []*Table{bigTable(t, b, rows)}
	for seed, s := range shapes {
		tables = append(tables, tableOf(t, b, randomRecs(s.rows, 7, uint64(seed)), s.chunks, uint64(seed)))
	}
	tallied := []Aggregate{Count(), Count("v"), Sum("v"), Mean("v")}
	for i, table := range tables {
		for keys, group := range map[string]*Grouping{
			"k":           From(table).GroupBy("k"),
			"s":           From(table).GroupBy("s"),
			"id":          From(table).GroupBy("id"),
			"k, s":        From(table).GroupBy("k", "s"),
			"spread id":   From(table).GroupBy(expr.Col("id").Mul(expr.Lit(0x1234567890abcd)).As("spread")),
			"k filtered":  From(table).Filter("id % 3 = 1").GroupBy("k"),
			"k, no nulls": From(table).GroupBy("k").DropNullKeys(),
			"s, no nulls": From(table).GroupBy("s").DropNullKeys(),
		} {
			for name, aggs := range map[string][]Aggregate{"sums": tallied, "of whole numbers": {Sum("id"), Count()}, "others": {Min("v"), First("id"), Sum("v")}, "none": {Count()}} {
				want, got := collect(t, group.Agg(aggs...)), collect(t, group.AnyOrder().Agg(aggs...))
				slices.Sort(want)
				slices.Sort(got)
				equalRows(t, fmt.Sprintf("table %d by %s, %s", i, keys, name), got, want)
			}
		}
	}
}
