package tpch

import (
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
)

// q12 is how many late lines of two ways of shipping were urgent.
func q12(d Data) *table.Query {
	return d.Lineitem.
		Filter("l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate and l_shipdate < l_commitdate").
		Filter("l_receiptdate >= date '1994-01-01' and l_receiptdate < date '1995-01-01'").
		Join(d.Orders, table.Inner, table.Keys("l_orderkey", "o_orderkey")).
		WithColumn("high", "case when o_orderpriority in ('1-URGENT', '2-HIGH') then 1 else 0 end").
		GroupBy("l_shipmode").
		Agg(table.Sum("high").As("high_line_count"), table.Sum(expr.Lit(1).Sub(expr.Col("high"))).As("low_line_count")).
		Sort(table.Asc("l_shipmode"))
}
