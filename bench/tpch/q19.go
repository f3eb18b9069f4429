package tpch

import "github.com/volley-go/volley/table"

// q19 is what three kinds of parts earned that were delivered in person.
func q19(d Data) *table.Query {
	const small = "p_brand = 'Brand#12' and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG') and l_quantity between 1 and 11 and p_size between 1 and 5"
	const medium = "p_brand = 'Brand#23' and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK') and l_quantity between 10 and 20 and p_size between 1 and 10"
	const large = "p_brand = 'Brand#34' and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG') and l_quantity between 20 and 30 and p_size between 1 and 15"
	return d.Lineitem.
		Filter("l_shipmode in ('AIR', 'AIR REG') and l_shipinstruct = 'DELIVER IN PERSON'").
		Join(d.Part, table.Inner, table.Keys("l_partkey", "p_partkey"), table.Where("("+small+") or ("+medium+") or ("+large+")")).
		WithColumn("volume", "l_extendedprice * (1 - l_discount)").
		Agg(table.Sum("volume").As("revenue"))
}
