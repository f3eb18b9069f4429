package gpu

import (
	"context"
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// aggregate is the GPU's AggregateFunc.
func (e *Engine) aggregate(ctx context.Context, s device.Stream, op kernels.Aggregation, values, ids *memory.Column, n int64, o kernels.AggregateOptions) (_ *memory.Column, err error) {
	c := e.begin(ctx, s)
	defer c.end(&err)
	a := c.aggregator(ids, n)
	a.check()
	out := a.column(kernels.Aggregate{Op: op, Values: values, Options: o})
	return c.give(out), c.err
}

// aggregator aggregates any number of columns by the same groups.
type aggregator struct {
	c     *call
	col   *memory.Column // the group of each row
	ids   vector
	wide  int32
	valid vector // rows that have a group
	rows  int64
	n     int64 // groups

	total  *memory.Buffer                    // rows of each group, once counted
	counts map[*memory.Column]*memory.Buffer // values of each group, by column
	plain  map[*memory.Column]*memory.Column // dictionaries decoded
}

func (c *call) aggregator(ids *memory.Column, n int64) *aggregator {
	a := &aggregator{
		c: c, col: ids, rows: ids.Len(), n: n, valid: c.validity(ids),
		counts: map[*memory.Column]*memory.Buffer{}, plain: map[*memory.Column]*memory.Column{},
	}
	width := memory.Width(ids.Type())
	a.ids, a.wide = c.values(ids, width), boolArg(width == 8)
	return a
}

// idArgs are the arguments IDS of the kernels.
func (a *aggregator) idArgs() []any { return []any{a.ids, a.wide, a.valid} }

// check fails the call where a row's group is out of range.
func (a *aggregator) check() {
	c := a.c
	bad := c.temp(8)
	c.fill(bad, 0xff)
	c.launch("aggregate", "aggregate_check", c.strided(a.rows), append(a.idArgs(), a.n, a.rows, bad)...)
	row := c.readInt64(bad, 0)
	if !c.ok() || row < 0 {
		return
	}
	width := int64(4 + 4*a.wide)
	_, offset := a.ids.buffer.Handle()
	g := binary.LittleEndian.Uint64(append(c.read(a.ids.buffer, (a.ids.at+row)*width-offset, width), 0, 0, 0, 0))
	c.failf(device.ErrValue, "row %d is of group %d of %d", row, g, a.n)
}

// column is one aggregation's result.
func (a *aggregator) column(agg kernels.Aggregate) *memory.Column {
	c := a.c
	if agg.Op == kernels.CountAll {
		return a.words(arrow.PrimitiveTypes.Int64, a.keep(a.totals()), nil)
	}
	t, err := kernels.AggregateType(agg.Op, agg.Values.Type())
	if err != nil {
		c.fail(err)
		return nil
	}
	switch agg.Op {
	case kernels.Count:
		return a.words(t, a.keep(a.count(agg.Values)), nil)
	case kernels.CountDistinct:
		return a.words(t, a.distinct(agg.Values), nil)
	}
	k := kindOf(plainType(agg.Values.Type()))
	switch agg.Op {
	case kernels.First, kernels.Last:
		return a.picked(agg)
	case kernels.Min, kernels.Max:
		if k.text() || k == kindWide || k == kindNull {
			return a.picked(agg)
		}
	}
	values := a.decoded(agg.Values)
	if !c.ok() {
		return nil
	}
	switch agg.Op {
	case kernels.Min, kernels.Max:
		return a.extreme(agg, values, t)
	case kernels.Any, kernels.All:
		return a.truth(agg, values)
	case kernels.Sum, kernels.SumWrapping:
		if k == kindF32 || k == kindF64 {
			return a.float(agg, values)
		}
		if k == kindWide {
			return a.decimalSum(agg, values, t)
		}
		return a.integerSum(agg, values, t)
	case kernels.Product:
		if k == kindF32 || k == kindF64 {
			return a.product(agg, values)
		}
		return a.integerProduct(agg, values, t)
	case kernels.Mean, kernels.Var, kernels.Std:
		return a.float(agg, values)
	}
	c.failf(device.ErrUnsupported, "%s of %s", agg.Op, agg.Values.Type())
	return nil
}

// decoded is a dictionary column as the column of its values.
func (a *aggregator) decoded(col *memory.Column) *memory.Column {
	if col.Dictionary() == nil {
		return col
	}
	if a.plain[col] == nil {
		a.plain[col] = a.c.decode(col)
	}
	return a.plain[col]
}

// result is memory of a width for each group.
func (a *aggregator) result(width int64) *memory.Buffer { return a.c.result(width * a.n) }

// keep is a copy, for a result, of counts that other aggregations read too.
func (a *aggregator) keep(counts *memory.Buffer) *memory.Buffer {
	out := a.result(8)
	a.c.copy(out, 0, counts, 0, 8*a.n)
	return out
}

// words is a column of values of fixed width.
func (a *aggregator) words(t arrow.DataType, values, valid *memory.Buffer) *memory.Column {
	p := memory.Parts{Type: t, Len: a.n, Buffers: []*memory.Buffer{valid, values}}
	if valid != nil {
		p.Nulls = memory.UnknownNulls
	}
	return a.c.column(p)
}

// totals counts the rows of each group.
func (a *aggregator) totals() *memory.Buffer {
	if a.total == nil {
		a.total = a.fold(opCount, nil, a.c.temp(8*a.n), foldExtra{})
	}
	return a.total
}

// count counts the values of each group.
func (a *aggregator) count(col *memory.Column) *memory.Buffer {
	if a.counts[col] != nil {
		return a.counts[col]
	}
	valid := a.c.rowsValid(col)
	if valid.buffer == nil {
		return a.totals()
	}
	a.counts[col] = a.foldOf(opCount, kindNull, vector{}, valid, a.c.temp(8*a.n), foldExtra{})
	return a.counts[col]
}

// rowsValid is the rows of a column that are not null, those of a dictionary
// whose value is null left out; a column of type null has none.
func (c *call) rowsValid(col *memory.Column) vector {
	if col.Dictionary() != nil && c.validity(col.Dictionary()).buffer == nil {
		return c.validity(col)
	}
	if layout := memory.LayoutOf(col.Type()); layout != memory.LayoutNull && layout != memory.LayoutDictionary {
		return c.validity(col)
	}
	if memory.LayoutOf(col.Type()) == memory.LayoutNull {
		return vector{c.zeroed(bitBytes(col.Len())), 0}
	}
	return c.dictionaryWords(col, keySource{kind: keyNone, valid: c.validity(col.Dictionary())}).valid
}

// rule is how many values it takes for a result, and whether a null among them
// makes it null.
func aggregateRule(agg kernels.Aggregate) (need int64, keep bool) {
	o := agg.Options
	if need = max(o.MinCount, 0); o.MinCount == 0 {
		need = 1
	}
	switch agg.Op {
	case kernels.Sum, kernels.SumWrapping, kernels.Product, kernels.Any, kernels.All:
	case kernels.Var, kernels.Std:
		need = max(need, 1, int64(o.Ddof)+1)
	default:
		need = max(need, 1)
	}
	return need, o.KeepNulls
}

// validity is the groups that have a result; values is the column without its
// dictionary. nil is all of them.
func (a *aggregator) validity(agg kernels.Aggregate, values *memory.Column) *memory.Buffer {
	return a.validityOf(agg, values, 0, nil)
}

func (a *aggregator) validityOf(agg kernels.Aggregate, values *memory.Column, kleene int32, truths *memory.Buffer) *memory.Buffer {
	need, keep := aggregateRule(agg)
	if need <= 0 && !keep {
		return nil
	}
	c := a.c
	rows, counts := null(), a.count(values)
	if keep {
		rows = a.totals()
	}
	known := null()
	if truths != nil {
		known = truths
	}
	out := c.result(bitBytes(a.n))
	c.launch("aggfinish", "aggfinish_valid", c.strided(a.n), counts, rows, known, need, boolArg(keep), kleene, out, a.n)
	return out
}
