package kernels

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// ReduceFunc reduces a column to a column of one row, of AggregateType (ArgMin
// and ArgMax: IndexType of the column's length). A dictionary is reduced by the
// values that its indices stand for. Of values that are equal the first counts
// as the least or the greatest. Min, Max, First, Last, ArgMin, ArgMax, Mean, Var
// and Std of nothing are null, whatever MinCount says. A sum or product of
// integers, durations or decimals is exact; one that does not fit AggregateType is
// an OverflowError. SumWrapping takes sums modulo 2^64.
//
// # The shape of sums
//
// Sum, Product, Mean, Var and Std of floats work in float64, in a shape that
// depends on the number of rows alone. Row r of the column, null or not, is in
// block r / ReduceBlock and there in lane r % ReduceLanes. A lane begins at 0 (1
// for Product) and takes in its values in rising row order; a null adds nothing.
// The lanes of a block are joined as ((0+4)+(2+6)) + ((1+5)+(3+7)), as vector
// registers are when they are halved. The sums of blocks are joined by
// neighbours, (0+1), (2+3), …, those again, and so on; one without a neighbour
// goes up as it is. The bound is |error| <= 1e-14 * sum|x| for up to 1e9 rows.
//
// Mean is that sum over the number of values. For integers, bools and decimals
// it is the exact sum, rounded to float64 (and divided by the power of ten),
// over the number. Var takes the differences d of each value, as float64, from
// the mean, of integers of 64 bits and decimals those of v - p from the mean of
// those, p being the least value; it sums d and d*d in the shape, and is (sum(d*d) - sum(d)*sum(d)/n) /
// (n - Ddof), never negative; Std is its square root. No product is fused with
// an addition. A device that keeps another shape keeps the bound, and 1e-12
// relative for Var where the mean is not huge against the spread.
type ReduceFunc func(ctx context.Context, s device.Stream, op Aggregation, c *memory.Column, o AggregateOptions) (*memory.Column, error)

// ReduceBlock is how many rows, and ReduceLanes how many lanes in each, the
// shape of float sums has.
const (
	ReduceBlock = 512
	ReduceLanes = 8
)

// Reduce checks its arguments and runs the set's Reduce. An aggregation that
// the type has not got is an ErrUnsupported, a negative Ddof an ErrMismatch.
func (b *Backend) Reduce(ctx context.Context, s device.Stream, op Aggregation, c *memory.Column, o AggregateOptions) (r *memory.Column, err error) {
	const call = "reduce"
	defer b.guard(call, &err)
	e := b.Set.Reduce
	if err := b.admit(ctx, s, call, e.Func != nil, e.Types, c); err != nil {
		return nil, err
	}
	if c == nil {
		return nil, b.fail(device.ErrMismatch, call, "no column")
	}
	if _, err := AggregateType(op, c.Type()); err != nil {
		return nil, err
	}
	if d, ok := c.Type().(*arrow.DictionaryType); ok && (DictTypes.Has(d.ValueType.ID()) || !e.Types.Has(d.ValueType.ID())) {
		return nil, b.fail(device.ErrUnsupported, call, "column 0 is a dictionary of %s", d.ValueType)
	}
	if o.Ddof < 0 {
		return nil, b.fail(device.ErrMismatch, call, "ddof %d is negative", o.Ddof)
	}
	return e.Func(ctx, s, op, c, o)
}

// Nulled reports whether the options make the aggregate null of rows of which
// valid are not null. It is not for Any and All, where KeepNulls depends on the
// values, and never true for counts.
func (o AggregateOptions) Nulled(op Aggregation, rows, valid int64) bool {
	switch op {
	case Count, CountAll, CountDistinct:
		return false
	}
	return o.tooFew(valid) || o.KeepNulls && valid < rows
}

// tooFew reports whether MinCount asks for more values than that.
func (o AggregateOptions) tooFew(valid int64) bool {
	if o.MinCount == 0 {
		return valid < 1
	}
	return valid < o.MinCount
}

// Judge is Any or All by what was found: whether any value was true and any
// false, and the number of rows and of values. known is false for null.
func (o AggregateOptions) Judge(op Aggregation, anyTrue, anyFalse bool, rows, valid int64) (value, known bool) {
	switch {
	case o.tooFew(valid):
		return false, false
	case op == Any && anyTrue:
		return true, true
	case op == All && anyFalse:
		return false, true
	default:
		return op == All, !o.KeepNulls || valid == rows
	}
}

// Variance is Var by the sums of the differences from the mean and of their
// squares.
func Variance(differences, squares float64, n int64, ddof int) float64 {
	v := (squares - float64(float64(differences*differences)/float64(n))) / float64(n-int64(ddof))
	if v < 0 {
		return 0
	}
	return v
}
