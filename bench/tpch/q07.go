package tpch

import "github.com/volley-go/volley/table"

// q7 is the trade between two nations, by year.
func q7(d Data) *table.Query {
	two := d.Nation.Filter("n_name in ('FRANCE', 'GERMANY')").Select("n_nationkey", "n_name")
	return d.Supplier.
		Join(two.Rename("n_name", "supp_nation"), table.Inner, table.Keys("s_nationkey", "n_nationkey")).
		Join(d.Lineitem.Filter("l_shipdate between date '1995-01-01' and date '1996-12-31'"), table.Inner, table.Keys("s_suppkey", "l_suppkey")).
		Join(d.Orders, table.Inner, table.Keys("l_orderkey", "o_orderkey")).
		Join(d.Customer, table.Inner, table.Keys("o_custkey", "c_custkey")).
		Join(two.Rename("n_name", "cust_nation"), table.Inner, table.Keys("c_nationkey", "n_nationkey"), table.Where("supp_nation <> cust_nation")).
		WithColumn("l_year", "year(l_shipdate)").
		WithColumn("volume", "l_extendedprice * (1 - l_discount)").
		GroupBy("supp_nation", "cust_nation", "l_year").
		Agg(table.Sum("volume").As("revenue")).
		Sort(table.Asc("supp_nation"), table.Asc("cust_nation"), table.Asc("l_year"))
}
