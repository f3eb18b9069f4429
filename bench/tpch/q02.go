package tpch

import "github.com/volley-go/volley/table"

// q2 is the cheapest European suppliers of parts of a size and material.
func q2(d Data) *table.Query {
	offers := d.Part.
		Filter("p_size = 15 and p_type like '%BRASS'").
		Join(d.Partsupp, table.Inner, table.Keys("p_partkey", "ps_partkey")).
		Join(d.Supplier, table.Inner, table.Keys("ps_suppkey", "s_suppkey")).
		Join(d.Nation, table.Inner, table.Keys("s_nationkey", "n_nationkey")).
		Join(d.Region.Filter("r_name = 'EUROPE'"), table.Semi, table.Keys("n_regionkey", "r_regionkey"))
	least := offers.GroupBy("p_partkey").Agg(table.Min("ps_supplycost").As("least"))
	return offers.
		Join(least, table.Semi, table.On("p_partkey"), table.Where("ps_supplycost = least")).
		Sort(table.Desc("s_acctbal"), table.Asc("n_name"), table.Asc("s_name"), table.Asc("p_partkey")).
		Head(100).
		Select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
}
