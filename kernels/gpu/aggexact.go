package gpu

import (
	"encoding/binary"
	"errors"
	"math"
	"math/big"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Sums of integers of 64 bits are folded into 128, and then narrowed by a cast that
// finds what does not fit; those of fewer bits cannot pass 64. Sums of decimals are
// folded into 128 bits where the extremes of the column prove that no group can
// pass them, and else on the host.

// wideType is what 128 bits are seen as.
var wideType = &arrow.Decimal128Type{Precision: kernels.DecimalDigits}

// overflow is the failure of an aggregation that does not fit t.
func (c *call) overflow(op kernels.Aggregation, t arrow.DataType) {
	c.fail(&kernels.OverflowError{Op: op, Type: t})
}

// integerSum is Sum and SumWrapping of integers, bools and durations.
func (a *aggregator) integerSum(agg kernels.Aggregate, values *memory.Column, t arrow.DataType) *memory.Column {
	c := a.c
	if agg.Op == kernels.SumWrapping || memory.Width(values.Type()) != 8 {
		return a.words(t, a.fold(opSum, values, a.result(8), foldExtra{}), a.validity(agg, values))
	}
	sums := a.words(wideType, a.fold(opWide, values, a.result(16), foldExtra{}), a.validity(agg, values))
	if !c.ok() {
		return nil
	}
	to := t
	if to.ID() == arrow.DURATION {
		to = arrow.PrimitiveTypes.Int64
	}
	out, err := c.e.cast(c.ctx, c.s, sums, to, kernels.CastOptions{})
	if errors.Is(err, device.ErrValue) {
		c.overflow(agg.Op, t)
		return nil
	}
	c.fail(err)
	return c.retyped(c.own(out), t)
}

// retyped is a column under another type of the same layout.
func (c *call) retyped(col *memory.Column, t arrow.DataType) *memory.Column {
	if !c.ok() || arrow.TypeEqual(col.Type(), t) {
		return col
	}
	out, err := col.WithType(t)
	c.fail(err)
	return c.own(out)
}

// decimalSum is Sum of decimals.
func (a *aggregator) decimalSum(agg kernels.Aggregate, values *memory.Column, t arrow.DataType) *memory.Column {
	c := a.c
	low, high := c.extremes(values)
	if low == nil || !c.ok() { // there is no value
		return a.words(t, a.fold(opWide, values, a.result(16), foldExtra{}), a.validity(agg, values))
	}
	reach := new(big.Int).Mul(farthest(low, high), big.NewInt(a.rows))
	if reach.BitLen() > 126 {
		return a.sumOnHost(agg, values, t)
	}
	out := a.words(t, a.fold(opWide, values, a.result(16), foldExtra{}), a.validity(agg, values))
	if !c.ok() || reach.Cmp(tenTo38) < 0 {
		return out
	}
	if low, high = c.extremes(out); low != nil && farthest(low, high).Cmp(tenTo38) >= 0 {
		c.overflow(agg.Op, t)
	}
	return out
}

var tenTo38 = new(big.Int).Exp(big.NewInt(10), big.NewInt(kernels.DecimalDigits), nil)

// farthest is the greater of two magnitudes.
func farthest(low, high *big.Int) *big.Int {
	if low.CmpAbs(high) > 0 {
		return new(big.Int).Abs(low)
	}
	return new(big.Int).Abs(high)
}

// extremes are the least and the greatest value of a column of integers of 64 bits
// or decimals; nil where it has none. It waits for the stream.
func (c *call) extremes(col *memory.Column) (low, high *big.Int) {
	r := reduction{call: c, op: kernels.Min, col: col, t: col.Type(), rows: col.Len()}
	if r.rows == 0 {
		return nil, nil
	}
	row := r.pick()
	if !c.ok() || row == math.MaxInt64 {
		return nil, nil
	}
	low = c.bigAt(col, row)
	r.op = kernels.Max
	row = r.pick()
	if !c.ok() {
		return nil, nil
	}
	return low, c.bigAt(col, row)
}

// bigAt is a value of such a column.
func (c *call) bigAt(col *memory.Column, row int64) *big.Int {
	v, width := c.data(col), int64(memory.Width(col.Type()))
	_, offset := v.buffer.Handle()
	w := words64(c.read(v.buffer, (v.at+row)*width-offset, width))
	switch {
	case width == 16:
		return bigOf(w[0], w[1])
	case col.Type().ID() == arrow.UINT64:
		return new(big.Int).SetUint64(w[0])
	default:
		return big.NewInt(int64(w[0]))
	}
}

// bigOf is 128 bits in two's complement as a number.
func bigOf(low, high uint64) *big.Int {
	v := new(big.Int).Lsh(big.NewInt(int64(high)), 64)
	return v.Add(v, new(big.Int).SetUint64(low))
}

// onHost reads the bytes of n values of width bytes.
func (c *call) onHost(v vector, width, n int64) []byte {
	if v.buffer == nil {
		return nil
	}
	_, offset := v.buffer.Handle()
	return c.read(v.buffer, v.at*width-offset, n*width)
}

// bitsOnHost reads n bits, all of them set where there is no bitmap.
func (c *call) bitsOnHost(v vector, n int64) func(i int64) bool {
	if v.buffer == nil {
		return func(int64) bool { return true }
	}
	_, offset := v.buffer.Handle()
	first := v.at / 8
	b := memory.Bitmap(c.read(v.buffer, first-offset, (v.at+n+7)/8-first))
	return func(i int64) bool { return b.Get(v.at - 8*first + i) }
}

// sumOnHost is Sum of decimals of which a group might pass 128 bits.
func (a *aggregator) sumOnHost(agg kernels.Aggregate, values *memory.Column, t arrow.DataType) *memory.Column {
	c := a.c
	width := int64(4 + 4*a.wide)
	ids, words := c.onHost(a.ids, width, a.rows), words64(c.onHost(c.data(values), 16, a.rows))
	grouped, known := c.bitsOnHost(a.valid, a.rows), c.bitsOnHost(c.rowsValid(values), a.rows)
	valid := a.validity(agg, values)
	var results func(int64) bool
	if valid == nil {
		results = func(int64) bool { return true }
	} else {
		results = c.bitsOnHost(bitmap(valid, 0), a.n)
	}
	if !c.ok() {
		return nil
	}
	sums := make([][3]uint64, a.n)
	for i := range a.rows {
		if !grouped(i) || !known(i) {
			continue
		}
		g := binary.LittleEndian.Uint64(append(ids[i*width:(i+1)*width:(i+1)*width], 0, 0, 0, 0))
		s, low, high := &sums[g], words[2*i], words[2*i+1]
		var carry uint64
		s[0], carry = bits.Add64(s[0], low, 0)
		s[1], carry = bits.Add64(s[1], high, carry)
		s[2] += uint64(int64(high)>>63) + carry
	}
	out := make([]kernels.Scalar, a.n)
	for g, s := range sums {
		if out[g] = kernels.Null(t); !results(int64(g)) {
			continue
		}
		sum := bigOf(s[1], s[2])
		sum.Add(sum.Lsh(sum, 64), new(big.Int).SetUint64(s[0]))
		v, err := kernels.Total(agg.Op, t, sum)
		if err != nil {
			c.fail(err)
			return nil
		}
		out[g] = v
	}
	host, err := kernels.FromScalars(memory.Heap, t, out)
	if err != nil {
		c.fail(err)
		return nil
	}
	defer host.Release()
	return c.toDevice(host)
}

// integerProduct is Product of integers: modulo 2^64, and held against the product
// as float64, which shows what 64 bits do not hold.
func (a *aggregator) integerProduct(agg kernels.Aggregate, values *memory.Column, t arrow.DataType) *memory.Column {
	c := a.c
	out := a.words(t, a.fold(opProduct, values, a.result(8), foldExtra{}), a.validity(agg, values))
	floats, err := c.e.cast(c.ctx, c.s, values, arrow.PrimitiveTypes.Float64, kernels.CastOptions{Wrap: true})
	c.fail(err)
	if !c.ok() {
		return nil
	}
	near := a.product(agg, c.own(floats))
	if !c.ok() {
		return nil
	}
	products, shown := words64(c.onHost(c.data(out), 8, a.n)), words64(c.onHost(c.data(near), 8, a.n))
	known := c.bitsOnHost(c.validity(out), a.n)
	for g := range a.n {
		if c.ok() && known(g) && !holdsProduct(products[g], math.Float64frombits(shown[g]), kernels.SignedTypes.Has(t.ID())) {
			c.overflow(agg.Op, t)
		}
	}
	return out
}

// holdsProduct reports whether a product modulo 2^64 is the whole product, of which
// near is what float64 makes of it, to far less than a millionth: a product that was
// cut is off by 2^64 at least, and itself no greater than that. NaN is 0 times what
// passed float64.
func holdsProduct(product uint64, near float64, signed bool) bool {
	whole := float64(product)
	if signed {
		whole = float64(int64(product))
	}
	return near != near || !math.IsInf(near, 0) && math.Abs(whole-near) <= 1e-6*math.Abs(near)
}

// fromLeast gives the distances of values from the least one, of all or of each
// row's group, as what float64 then makes little of: integers as uint64. least has a
// value for each row, or is a scalar.
func (c *call) fromLeast(values *memory.Column, least kernels.Datum) *memory.Column {
	if !c.ok() {
		return nil
	}
	out, err := c.e.arithmetic(c.ctx, c.s, kernels.Subtract, values, least, kernels.ArithmeticOptions{})
	c.fail(err)
	if out = c.own(out); !c.ok() || out.Type().ID() == arrow.DECIMAL128 {
		return out
	}
	return c.retyped(out, arrow.PrimitiveTypes.Uint64)
}

// shifts reports whether the distances of the values of a column from the least
// of them fit its type.
func (c *call) shifts(values *memory.Column) (low *big.Int, ok bool) {
	low, high := c.extremes(values)
	if low == nil {
		return nil, false
	}
	return low, new(big.Int).Sub(high, low).BitLen() < 127
}

// leastOfGroup is, for each row, the least value of its group.
func (a *aggregator) leastOfGroup(values *memory.Column) *memory.Column {
	c := a.c
	least := a.column(kernels.Aggregate{Op: kernels.Min, Values: values})
	if !c.ok() {
		return nil
	}
	out, err := c.e.take(c.ctx, c.s, least, a.col, kernels.TakeOptions{Trusted: true})
	c.fail(err)
	return c.own(out)
}
