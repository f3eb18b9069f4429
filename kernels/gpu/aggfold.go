package gpu

import (
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// What a row adds to its group: OP_… of aggregate.h.
const (
	opCount int32 = iota
	opSum
	opWide
	opMin
	opMax
	opFirst
	opLast
	opScale
	opFixed
	opProduct
)

// foldWords is the number of 64-bit words of local memory of aggregate_few.
const foldWords = 2048

// foldExtra are the arguments of folds of floats.
type foldExtra struct {
	scale, flags, mean *memory.Buffer
	unit               float64 // what a decimal's integer is divided by
	shift              int32
}

// fold folds the values of a column, or of nil its rows, into acc, which is
// first set to what changes nothing. It returns acc.
func (a *aggregator) fold(op int32, col *memory.Column, acc *memory.Buffer, x foldExtra) *memory.Buffer {
	if col == nil {
		return a.foldOf(op, kindNull, vector{}, vector{}, acc, x)
	}
	return a.foldOf(op, kindOf(col.Type()), a.c.data(col), a.c.rowsValid(col), acc, x)
}

func (a *aggregator) foldOf(op int32, k kind, values, valid vector, acc *memory.Buffer, x foldExtra) *memory.Buffer {
	c := a.c
	switch op {
	case opMin, opFirst:
		c.fill(acc, 0xff)
	case opProduct:
		c.ones(acc, a.n)
	default:
		c.fill(acc, 0)
	}
	if op == opCount || op == opFirst || op == opLast {
		k, values = kindNull, vector{} // only the row matters
	}
	buffer := func(b *memory.Buffer) any {
		if b == nil {
			return null()
		}
		return b
	}
	if x.unit == 0 {
		x.unit = 1
	}
	args := append([]any{op}, a.idArgs()...)
	args = append(args, a.n, int32(k), values, valid, acc, buffer(x.scale), buffer(x.flags), buffer(x.mean), x.unit, x.shift, a.rows)
	words := a.n
	if op == opWide || op == opFixed {
		words *= 2
	}
	groups := min(groupsFor(a.rows, 4*group), c.strided(a.rows))
	if words > foldWords || a.n == 0 {
		c.launch("aggregate", "aggregate_fold", groups, args...)
		return acc
	}
	copies := min(int64(1)<<(bits.Len64(uint64(foldWords/words))-1), 32)
	c.launch("aggregate", "aggregate_few", groups, append(args, copies)...)
	return acc
}

// ones sets n 64-bit words to 1.
func (c *call) ones(b *memory.Buffer, n int64) {
	c.launch("aggfinish", "aggfinish_ones", c.strided(n), b, n)
}

// extreme is Min and Max of values that an atomic compares.
func (a *aggregator) extreme(agg kernels.Aggregate, values *memory.Column, t arrow.DataType) *memory.Column {
	c, op := a.c, opMin
	if agg.Op == kernels.Max {
		op = opMax
	}
	words := a.fold(op, values, c.temp(8*a.n), foldExtra{})
	valid := a.validity(agg, values)
	if t.ID() == arrow.BOOL { // the words are 0 and 1, or as they were set where a group has none
		out := c.result(bitBytes(a.n))
		c.launch("aggfinish", "aggfinish_truth", c.strided(a.n), words, words, int32(0), out, a.n)
		return a.words(t, out, valid)
	}
	out := a.result(int64(memory.Width(t)))
	c.launch("aggfinish", "aggfinish_extreme", c.strided(a.n), words, int32(kindOf(t)), out, a.n)
	return a.words(t, out, valid)
}

// truth is Any and All.
func (a *aggregator) truth(agg kernels.Aggregate, values *memory.Column) *memory.Column {
	c := a.c
	counts, truths := a.count(values), a.fold(opSum, values, c.temp(8*a.n), foldExtra{})
	out := c.result(bitBytes(a.n))
	c.launch("aggfinish", "aggfinish_truth", c.strided(a.n), counts, truths, boolArg(agg.Op == kernels.All), out, a.n)
	kleene := int32(1)
	if agg.Op == kernels.All {
		kleene = 2
	}
	return a.words(arrow.FixedWidthTypes.Boolean, out, a.validityOf(agg, values, kleene, truths))
}

// How a float is finished: HOW_… of aggfinish.cl.
const (
	howSum int32 = iota
	howMean
	howVar
	howStd
)

// float is Sum of floats, and Mean, Var and Std.
func (a *aggregator) float(agg kernels.Aggregate, values *memory.Column) *memory.Column {
	out := a.result(8)
	switch agg.Op {
	case kernels.Sum:
		a.moment(values, howSum, out)
	case kernels.Mean:
		a.moment(values, howMean, out)
	default:
		how := howVar
		if agg.Op == kernels.Std {
			how = howStd
		}
		mean, from := a.c.temp(8*a.n), values
		if kernels.FromLeast(values.Type()) {
			if _, ok := a.c.shifts(values); ok {
				from = a.c.fromLeast(values, a.leastOfGroup(values))
			}
		}
		if !a.c.ok() {
			return nil
		}
		a.moment(from, howMean, mean)
		a.floatSum(from, mean, how, int64(agg.Options.Ddof), out)
	}
	return a.words(arrow.PrimitiveTypes.Float64, out, a.validity(agg, values))
}

// unitOf is what a decimal's integer is divided by; 1 for other types.
func unitOf(t arrow.DataType) float64 {
	if d, ok := t.(*arrow.Decimal128Type); ok {
		return math.Pow10(int(d.Scale))
	}
	return 1
}

// moment is the sum or mean of values: of integers and decimals exact to the
// last step.
func (a *aggregator) moment(values *memory.Column, how int32, out *memory.Buffer) {
	if k := kindOf(values.Type()); k == kindF32 || k == kindF64 {
		a.floatSum(values, nil, how, 0, out)
		return
	}
	c := a.c
	sums := a.fold(opWide, values, c.temp(16*a.n), foldExtra{})
	c.launch("aggfinish", "aggfinish_float", c.strided(a.n), sums, null(), null(), int32(0), unitOf(values.Type()), a.count(values), how, int64(0), out, a.n)
	c.drop(sums)
}

// floatSum sums floats, or, around a mean, the squares of the differences from it.
func (a *aggregator) floatSum(values *memory.Column, mean *memory.Buffer, how int32, ddof int64, out *memory.Buffer) {
	c := a.c
	x := foldExtra{flags: c.zeroed(8 * a.n), mean: mean, unit: unitOf(values.Type()), shift: int32(73 - bits.Len64(uint64(a.rows)))}
	x.scale = a.fold(opScale, values, c.temp(8*a.n), x)
	sums := a.fold(opFixed, values, c.temp(16*a.n), x)
	c.launch("aggfinish", "aggfinish_float", c.strided(a.n), sums, x.scale, x.flags, x.shift, 1.0, a.count(values), how, ddof, out, a.n)
	c.drop(x.flags)
	c.drop(x.scale)
	c.drop(sums)
}

// distinct counts the distinct values of each group.
func (a *aggregator) distinct(values *memory.Column) *memory.Buffer {
	c := a.c
	_, rows := c.keySpaceOf([]*memory.Column{a.col, values}, true, false)
	t, _ := c.buildTable(rows, tableOptions{first: true, bare: true})
	counts := a.result(8)
	c.fill(counts, 0)
	c.launch("aggregate", "aggregate_distinct", c.strided(t.size()), append(a.idArgs(), t.slots, t.size(), counts)...)
	return counts
}
