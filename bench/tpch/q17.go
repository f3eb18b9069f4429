package tpch

import (
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
)

// q17 is what orders of small quantities of a part earned in a year.
func q17(d Data) *table.Query {
	lines := d.Lineitem.
		Join(d.Part.Filter("p_brand = 'Brand#23' and p_container = 'MED BOX'"), table.Semi, table.Keys("l_partkey", "p_partkey"))
	means := lines.GroupBy("l_partkey").Agg(table.Mean("l_quantity").As("mean"))
	return lines.
		Join(means, table.Semi, table.On("l_partkey"), table.Where("l_quantity < 0.2 * mean")).
		Agg(table.Sum("l_extendedprice").As("price")).
		Select(expr.Col("price").Div(7.0).As("avg_yearly"))
}
