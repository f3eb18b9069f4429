package tpch

import "github.com/volley-go/volley/table"

// q10 is the customers who sent back most of a quarter.
func q10(d Data) *table.Query {
	return d.Customer.
		Join(d.Orders.Filter("o_orderdate >= date '1993-10-01' and o_orderdate < date '1994-01-01'"), table.Inner, table.Keys("c_custkey", "o_custkey")).
		Join(d.Lineitem.Filter("l_returnflag = 'R'"), table.Inner, table.Keys("o_orderkey", "l_orderkey")).
		Join(d.Nation, table.Inner, table.Keys("c_nationkey", "n_nationkey")).
		WithColumn("volume", "l_extendedprice * (1 - l_discount)").
		GroupBy("c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment").
		Agg(table.Sum("volume").As("revenue")).
		Sort(table.Desc("revenue"), table.Asc("c_custkey")).
		Head(20).
		Select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone", "c_comment")
}
