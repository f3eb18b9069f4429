package tpch

import "github.com/volley-go/volley/table"

// q14 is the share of promoted parts in what a month earned.
func q14(d Data) *table.Query {
	return d.Lineitem.
		Filter("l_shipdate >= date '1995-09-01' and l_shipdate < date '1995-10-01'").
		Join(d.Part, table.Inner, table.Keys("l_partkey", "p_partkey")).
		WithColumn("volume", "l_extendedprice * (1 - l_discount)").
		WithColumn("promoted", "case when p_type like 'PROMO%' then volume else 0 end").
		Agg(table.Sum("promoted"), table.Sum("volume")).
		WithColumn("promo_revenue", "100 * sum_promoted / sum_volume").
		Select("promo_revenue")
}
