package tpch

import (
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
)

// q9 is the profit with parts of a colour, by nation and year.
func q9(d Data) *table.Query {
	return d.Part.
		Filter("p_name like '%green%'").
		Join(d.Lineitem, table.Inner, table.Keys("p_partkey", "l_partkey")).
		Join(d.Supplier, table.Inner, table.Keys("l_suppkey", "s_suppkey")).
		Join(d.Partsupp, table.Inner, table.Keys("p_partkey", "ps_partkey"), table.Keys("l_suppkey", "ps_suppkey")).
		Join(d.Orders, table.Inner, table.Keys("l_orderkey", "o_orderkey")).
		Join(d.Nation, table.Inner, table.Keys("s_nationkey", "n_nationkey")).
		WithColumn("o_year", "year(o_orderdate)").
		WithColumn("amount", "l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity").
		GroupBy(expr.Col("n_name").As("nation"), "o_year").
		Agg(table.Sum("amount").As("sum_profit")).
		Sort(table.Asc("nation"), table.Desc("o_year"))
}
