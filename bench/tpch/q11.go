package tpch

import "github.com/volley-go/volley/table"

// q11 is the parts in stock that are worth a share of all of a nation.
func q11(d Data) *table.Query {
	stock := d.Nation.
		Filter("n_name = 'GERMANY'").
		Join(d.Supplier, table.Inner, table.Keys("n_nationkey", "s_nationkey")).
		Join(d.Partsupp, table.Inner, table.Keys("s_suppkey", "ps_suppkey")).
		WithColumn("worth", "ps_supplycost * ps_availqty")
	return stock.
		GroupBy("ps_partkey").
		Agg(table.Sum("worth").As("value")).
		WithScalar("total", stock.Agg(table.Sum("worth"))).
		Filter("value > total * 0.0001").
		Sort(table.Desc("value"), table.Asc("ps_partkey")).
		Select("ps_partkey", "value")
}
