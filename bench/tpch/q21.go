package tpch

import "github.com/volley-go/volley/table"

// q21 is the suppliers that alone kept orders waiting.
func q21(d Data) *table.Query {
	late := d.Lineitem.Filter("l_receiptdate > l_commitdate")
	return late.
		Join(d.Supplier, table.Inner, table.Keys("l_suppkey", "s_suppkey")).
		Join(d.Nation.Filter("n_name = 'SAUDI ARABIA'"), table.Semi, table.Keys("s_nationkey", "n_nationkey")).
		Join(d.Orders.Filter("o_orderstatus = 'F'"), table.Semi, table.Keys("l_orderkey", "o_orderkey")).
		Join(d.Lineitem, table.Semi, table.On("l_orderkey"), table.Where("l_suppkey <> l_suppkey_right")).
		Join(late, table.Anti, table.On("l_orderkey"), table.Where("l_suppkey <> l_suppkey_right")).
		GroupBy("s_name").
		Agg(table.Count().As("numwait")).
		Sort(table.Desc("numwait"), table.Asc("s_name")).
		Head(100)
}
