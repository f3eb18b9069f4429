package tpch

import (
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
)

// q6 is what more would have been earned without some small discounts.
func q6(d Data) *table.Query {
	return d.Lineitem.
		Filter("l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24").
		Agg(table.Sum(expr.Col("l_extendedprice").Mul(expr.Col("l_discount"))).As("revenue"))
}
