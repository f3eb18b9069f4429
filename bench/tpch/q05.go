package tpch

import "github.com/volley-go/volley/table"

// q5 is what suppliers sold to customers of their own nation.
func q5(d Data) *table.Query {
	return d.Region.
		Filter("r_name = 'ASIA'").
		Join(d.Nation, table.Inner, table.Keys("r_regionkey", "n_regionkey")).
		Join(d.Customer, table.Inner, table.Keys("n_nationkey", "c_nationkey")).
		Join(d.Orders.Filter("o_orderdate >= date '1994-01-01' and o_orderdate < date '1995-01-01'"), table.Inner, table.Keys("c_custkey", "o_custkey")).
		Join(d.Lineitem, table.Inner, table.Keys("o_orderkey", "l_orderkey")).
		Join(d.Supplier, table.Inner, table.Keys("l_suppkey", "s_suppkey"), table.Keys("n_nationkey", "s_nationkey")).
		WithColumn("volume", "l_extendedprice * (1 - l_discount)").
		GroupBy("n_name").
		Agg(table.Sum("volume").As("revenue")).
		Sort(table.Desc("revenue"))
}
