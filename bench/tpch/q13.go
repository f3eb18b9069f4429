package tpch

import "github.com/volley-go/volley/table"

// q13 is how many customers have how many orders.
func q13(d Data) *table.Query {
	return d.Customer.
		Join(d.Orders, table.Left, table.Keys("c_custkey", "o_custkey"), table.Where("o_comment not like '%special%requests%'")).
		GroupBy("c_custkey").
		Agg(table.Count("o_orderkey").As("c_count")).
		GroupBy("c_count").
		Agg(table.Count().As("custdist")).
		Sort(table.Desc("custdist"), table.Desc("c_count"))
}
