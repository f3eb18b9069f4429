package tpch

import "github.com/volley-go/volley/table"

// q15 is the supplier that earned most in a quarter.
func q15(d Data) *table.Query {
	revenue := d.Lineitem.
		Filter("l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-04-01'").
		WithColumn("volume", "l_extendedprice * (1 - l_discount)").
		GroupBy("l_suppkey").
		Agg(table.Sum("volume").As("total_revenue"))
	return revenue.
		WithScalar("best", revenue.Agg(table.Max("total_revenue"))).
		Filter("total_revenue = best").
		Join(d.Supplier, table.Inner, table.Keys("l_suppkey", "s_suppkey")).
		Sort(table.Asc("s_suppkey")).
		Select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
}
