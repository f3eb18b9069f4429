package tpch

import "github.com/volley-go/volley/table"

// q16 is how many suppliers without complaints offer parts, by brand, type and size.
func q16(d Data) *table.Query {
	return d.Part.
		Filter("p_brand <> 'Brand#45' and p_type not like 'MEDIUM POLISHED%' and p_size in (49, 14, 23, 45, 19, 3, 36, 9)").
		Join(d.Partsupp, table.Inner, table.Keys("p_partkey", "ps_partkey")).
		Join(d.Supplier.Filter("s_comment like '%Customer%Complaints%'"), table.Anti, table.Keys("ps_suppkey", "s_suppkey")).
		GroupBy("p_brand", "p_type", "p_size").
		Agg(table.CountDistinct("ps_suppkey").As("supplier_cnt")).
		Sort(table.Desc("supplier_cnt"), table.Asc("p_brand"), table.Asc("p_type"), table.Asc("p_size"))
}
