package gpu

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// picked is the aggregations whose result is the value of a row: the row of
// each group is found, and then the values of those rows alone are moved. Of a
// dictionary only those are decoded.
func (a *aggregator) picked(agg kernels.Aggregate) *memory.Column {
	c, values := a.c, agg.Values
	rows, from := c.temp(8*a.n), uint64(1)
	switch agg.Op {
	case kernels.First:
		a.fold(opFirst, values, rows, foldExtra{})
		from = 0
	case kernels.Last:
		a.fold(opLast, values, rows, foldExtra{})
	default:
		a.pickRows(values, agg.Op == kernels.Max, rows)
	}
	t := kernels.IndexType(a.rows)
	width := int64(memory.Width(t))
	out := a.result(width)
	c.launch("aggfinish", "aggfinish_rows", c.strided(a.n), rows, from, out, boolArg(width == 8), a.n)
	c.drop(rows)
	index := a.words(t, out, a.validity(agg, values))
	if !c.ok() {
		return nil
	}
	found, err := c.e.take(c.ctx, c.s, values, index, kernels.TakeOptions{Trusted: true})
	if err != nil {
		c.fail(err)
		return nil
	}
	return c.decode(c.own(found))
}

// pickRows finds the row of the least or greatest value of each group: its
// number + 1, or 0.
func (a *aggregator) pickRows(values *memory.Column, greatest bool, rows *memory.Buffer) {
	c := a.c
	c.fill(rows, 0)
	plain, indexKind := values, kindNull
	var index vector
	if d, ok := values.Type().(*arrow.DictionaryType); ok {
		plain, indexKind = values.Dictionary(), kindOf(d.IndexType)
		index = c.values(values, memory.Width(d))
	}
	k := kindOf(plain.Type())
	if k == kindNull {
		return
	}
	args := append(a.idArgs(), int32(k), c.data(plain), c.bytes(plain), int32(indexKind), index, c.rowsValid(values), boolArg(greatest), rows, a.rows)
	c.launch("aggpick", "aggpick_rows", c.strided(a.rows), args...)
}
