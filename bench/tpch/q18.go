package tpch

import (
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
)

// q18 is the orders of more than 300 pieces.
func q18(d Data) *table.Query {
	large := d.Lineitem.
		GroupBy("l_orderkey").
		Agg(table.Sum("l_quantity").As("sum_qty")).
		Filter("sum_qty > 300")
	return d.Orders.
		Join(large, table.Inner, table.Keys("o_orderkey", "l_orderkey")).
		Join(d.Customer, table.Inner, table.Keys("o_custkey", "c_custkey")).
		Sort(table.Desc("o_totalprice"), table.Asc("o_orderdate"), table.Asc("o_orderkey")).
		Head(100).
		Select("c_name", expr.Col("o_custkey").As("c_custkey"), "o_orderkey", "o_orderdate", "o_totalprice", "sum_qty")
}
