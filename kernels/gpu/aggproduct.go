package gpu

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// product is Product of floats: see aggproduct.cl.
func (a *aggregator) product(agg kernels.Aggregate, values *memory.Column) *memory.Column {
	c := a.c
	keyBits := bits.Len64(uint64(a.n))
	wide := keyBits > 32
	keys := c.temp((4 + 4*int64(boolArg(wide))) * a.rows)
	c.launch("aggproduct", "aggproduct_keys", c.strided(a.rows), append(a.idArgs(), c.validity(values), a.n, keys, boolArg(wide), a.rows)...)
	width := memory.Width(kernels.IndexType(a.rows))
	rows := c.sortRows(keys, keyBits, nil, width, a.rows)
	ends := c.prefix(a.count(values), 8, a.n)
	out := a.result(8)
	args := []any{rows, boolArg(width == 8), ends, int32(kindOf(values.Type())), c.data(values), out, a.n}
	c.launch("aggproduct", "aggproduct_short", c.strided(a.n), args...)
	c.launch("aggproduct", "aggproduct_long", min(a.n, c.strided(a.rows)), args...)
	c.drop(rows)
	c.drop(ends)
	return a.words(arrow.PrimitiveTypes.Float64, out, a.validity(agg, values))
}
