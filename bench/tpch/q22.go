package tpch

import "github.com/volley-go/volley/table"

// q22 is the customers with money who ordered nothing, by country code.
func q22(d Data) *table.Query {
	some := d.Customer.
		WithColumn("cntrycode", "substring(c_phone, 1, 2)").
		Filter("cntrycode in ('13', '31', '23', '29', '30', '18', '17')")
	return some.
		WithScalar("mean", some.Filter("c_acctbal > 0").Agg(table.Mean("c_acctbal"))).
		Filter("c_acctbal > mean").
		Join(d.Orders, table.Anti, table.Keys("c_custkey", "o_custkey")).
		GroupBy("cntrycode").
		Agg(table.Count().As("numcust"), table.Sum("c_acctbal").As("totacctbal")).
		Sort(table.Asc("cntrycode"))
}
