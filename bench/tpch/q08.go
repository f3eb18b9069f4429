package tpch

import "github.com/volley-go/volley/table"

// q8 is the share of a nation in a market, by year.
func q8(d Data) *table.Query {
	return d.Part.
		Filter("p_type = 'ECONOMY ANODIZED STEEL'").
		Join(d.Lineitem, table.Inner, table.Keys("p_partkey", "l_partkey")).
		Join(d.Orders.Filter("o_orderdate between date '1995-01-01' and date '1996-12-31'"), table.Inner, table.Keys("l_orderkey", "o_orderkey")).
		Join(d.Customer, table.Inner, table.Keys("o_custkey", "c_custkey")).
		Join(d.Nation.Select("n_nationkey", "n_regionkey"), table.Inner, table.Keys("c_nationkey", "n_nationkey")).
		Join(d.Region.Filter("r_name = 'AMERICA'"), table.Semi, table.Keys("n_regionkey", "r_regionkey")).
		Join(d.Supplier, table.Inner, table.Keys("l_suppkey", "s_suppkey")).
		Join(d.Nation.Select("n_nationkey", "n_name"), table.Inner, table.Keys("s_nationkey", "n_nationkey")).
		WithColumn("o_year", "year(o_orderdate)").
		WithColumn("volume", "l_extendedprice * (1 - l_discount)").
		WithColumn("own", "case when n_name = 'BRAZIL' then volume else 0 end").
		GroupBy("o_year").
		Agg(table.Sum("own"), table.Sum("volume")).
		WithColumn("mkt_share", "sum_own / sum_volume").
		Sort(table.Asc("o_year")).
		Select("o_year", "mkt_share")
}
