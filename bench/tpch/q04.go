package tpch

import "github.com/volley-go/volley/table"

// q4 is how many orders of a quarter have a late line, by priority.
func q4(d Data) *table.Query {
	return d.Orders.
		Filter("o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-10-01'").
		Join(d.Lineitem.Filter("l_commitdate < l_receiptdate"), table.Semi, table.Keys("o_orderkey", "l_orderkey")).
		GroupBy("o_orderpriority").
		Agg(table.Count().As("order_count")).
		Sort(table.Asc("o_orderpriority"))
}
