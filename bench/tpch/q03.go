package tpch

import "github.com/volley-go/volley/table"

// q3 is the orders not yet shipped that are worth most.
func q3(d Data) *table.Query {
	return d.Customer.
		Filter("c_mktsegment = 'BUILDING'").
		Join(d.Orders.Filter("o_orderdate < date '1995-03-15'"), table.Inner, table.Keys("c_custkey", "o_custkey")).
		Join(d.Lineitem.Filter("l_shipdate > date '1995-03-15'"), table.Inner, table.Keys("o_orderkey", "l_orderkey")).
		WithColumn("volume", "l_extendedprice * (1 - l_discount)").
		GroupBy("l_orderkey", "o_orderdate", "o_shippriority").
		Agg(table.Sum("volume").As("revenue")).
		Sort(table.Desc("revenue"), table.Asc("o_orderdate"), table.Asc("l_orderkey")).
		Head(10).
		Select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
}
