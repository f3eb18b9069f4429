package tpch

import "github.com/volley-go/volley/table"

// q20 is the suppliers of a nation that hold more of some parts than they need.
func q20(d Data) *table.Query {
	sold := d.Lineitem.
		Filter("l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'").
		GroupBy("l_partkey", "l_suppkey").
		Agg(table.Sum("l_quantity").As("sold"))
	stock := d.Partsupp.
		Join(d.Part.Filter("p_name like 'forest%'"), table.Semi, table.Keys("ps_partkey", "p_partkey")).
		Join(sold, table.Semi, table.Keys("ps_partkey", "l_partkey"), table.Keys("ps_suppkey", "l_suppkey"), table.Where("ps_availqty > 0.5 * sold"))
	return d.Supplier.
		Join(d.Nation.Filter("n_name = 'CANADA'"), table.Semi, table.Keys("s_nationkey", "n_nationkey")).
		Join(stock, table.Semi, table.Keys("s_suppkey", "ps_suppkey")).
		Sort(table.Asc("s_name")).
		Select("s_name", "s_address")
}
