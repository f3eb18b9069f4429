package stats

import (
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/memory"
)

// columnOf makes a column of values that a builder is given.
func columnOf(t *testing.T, typ arrow.DataType, fill func(array.Builder)) *memory.Column {
	t.Helper()
	b := array.NewBuilder(arrowmem.DefaultAllocator, typ)
	defer b.Release()
	fill(b)
	a := b.NewArray()
	defer a.Release()
	c, err := memory.FromArrow(a)
	require.NoError(t, err)
	t.Cleanup(c.Release)
	return c
}

func ints(t *testing.T, values ...int64) *memory.Column {
	return columnOf(t, arrow.PrimitiveTypes.Int64, func(b array.Builder) { b.(*array.Int64Builder).AppendValues(values, nil) })
}

// Bounds, nulls and order are those of all parts together.
func TestColumnOfParts(t *testing.T) {
	c, ok := Of([]*memory.Column{ints(t, 1, 1, 2), ints(t, 2, 5), ints(t), ints(t, 9)})
	require.True(t, ok)
	require.Equal(t, Column{Rows: 6, Bounded: true, Min: 1, Max: 9, Distinct: 4, Sorted: true}, c)
	c, _ = Of([]*memory.Column{ints(t, 3, 4), ints(t, 1)})
	require.Equal(t, Column{Rows: 3, Bounded: true, Min: 1, Max: 4, Distinct: 3}, c)
	require.True(t, c.Unique())
	c, _ = Of([]*memory.Column{ints(t)})
	require.Equal(t, Column{}, c)
	some := columnOf(t, arrow.PrimitiveTypes.Int32, func(b array.Builder) {
		b.AppendNull()
		b.(*array.Int32Builder).Append(-7)
		b.AppendNull()
	})
	c, _ = Of([]*memory.Column{some})
	require.Equal(t, Column{Rows: 3, Nulls: 2, Bounded: true, Min: -7, Max: -7, Distinct: 1}, c)
	nulls := columnOf(t, arrow.PrimitiveTypes.Int32, func(b array.Builder) { b.AppendNulls(3) })
	c, _ = Of([]*memory.Column{nulls})
	require.Equal(t, Column{Rows: 3, Nulls: 3}, c)
}

// Floats, decimals and texts: NaN is no bound, and no order.
func TestColumnOfOtherTypes(t *testing.T) {
	floats := columnOf(t, arrow.PrimitiveTypes.Float64, func(b array.Builder) {
		b.(*array.Float64Builder).AppendValues([]float64{math.NaN(), 1, 2.5, math.NaN()}, nil)
	})
	c, _ := Of([]*memory.Column{floats})
	require.Equal(t, []any{true, 1.0, 2.5, false}, []any{c.Bounded, c.Min, c.Max, c.Sorted})
	nans := columnOf(t, arrow.PrimitiveTypes.Float64, func(b array.Builder) {
		b.(*array.Float64Builder).AppendValues([]float64{math.NaN(), math.NaN()}, nil)
	})
	c, _ = Of([]*memory.Column{nans})
	require.False(t, c.Bounded || c.Sorted)
	decimals := columnOf(t, &arrow.Decimal128Type{Precision: 38, Scale: 2}, func(b array.Builder) {
		for _, v := range []decimal128.Num{decimal128.FromI64(-150), decimal128.New(1, 0), decimal128.FromI64(3)} {
			b.(*array.Decimal128Builder).Append(v)
		}
	})
	c, _ = Of([]*memory.Column{decimals})
	require.Equal(t, []any{-1.5, 0x1p64 / 100}, []any{c.Min, c.Max})
	texts := columnOf(t, arrow.BinaryTypes.String, func(b array.Builder) {
		b.(*array.StringBuilder).AppendValues([]string{"a", "ccc", "a"}, nil)
	})
	c, _ = Of([]*memory.Column{texts})
	require.Equal(t, Column{Rows: 3, Distinct: 2, Longest: 3}, c)
}

// A sample finds about how many values there are.
func TestDistinctIsGuessed(t *testing.T) {
	const rows = 300_000
	for _, many := range []int64{10, 1000, 20_000, 150_000} {
		values := make([]int64, rows)
		x := uint64(1)
		for i := range values {
			x = x*6364136223846793005 + 1442695040888963407
			values[i] = int64(x>>33) % many * 1_000_003
		}
		c, _ := Of([]*memory.Column{ints(t, values...)})
		require.InEpsilon(t, many, c.Distinct, 0.5, "%d values", many)
	}
}

// Shares are those of evenly spread values, and matches those of values that one side
// has all of.
func TestShares(t *testing.T) {
	c := Column{Rows: 100, Nulls: 50, Bounded: true, Min: 0, Max: 10, Distinct: 10}
	require.Equal(t, []float64{0, 0.25, 0.5, 0.05, 0}, []float64{c.Below(-1), c.Below(5), c.Below(11), c.Equal(3, true), c.Equal(11, true)})
	require.Equal(t, RangeShare, c.Below(math.NaN()))
	require.Equal(t, RangeShare, Column{Rows: 1}.Below(3))
	require.InDelta(t, 1.0/20, Matches(Side{Distinct: 10}, Side{Distinct: 20}), 1e-9)
	require.InDelta(t, 1.0/10, Matches(Side{Distinct: 10, AtMost: true}, Side{Distinct: 20, AtMost: true}), 1e-9)
	require.InDelta(t, 10, Kept(10, 1000, 0.5), 0.01)
	require.InDelta(t, 5, Kept(10, 10, 0.5), 0.01)
}
