package tpch

import "github.com/volley-go/volley/table"

// q1 is the pricing summary: sums and means of nearly all lines, by two flags.
func q1(d Data) *table.Query {
	return d.Lineitem.
		Filter("l_shipdate <= date '1998-09-02'").
		WithColumn("disc_price", "l_extendedprice * (1 - l_discount)").
		WithColumn("charge", "disc_price * (1 + l_tax)").
		GroupBy("l_returnflag", "l_linestatus").
		Agg(
			table.Sum("l_quantity").As("sum_qty"), table.Sum("l_extendedprice").As("sum_base_price"),
			table.Sum("disc_price").As("sum_disc_price"), table.Sum("charge").As("sum_charge"),
			table.Mean("l_quantity").As("avg_qty"), table.Mean("l_extendedprice").As("avg_price"), table.Mean("l_discount").As("avg_disc"),
			table.Count().As("count_order")).
		Sort(table.Asc("l_returnflag"), table.Asc("l_linestatus"))
}
