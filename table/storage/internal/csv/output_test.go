package csv

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// A repeated value is the same in every row, whatever its type is, and also where it lies within
// a larger column or is null.
func TestRepeat(t *testing.T) {
	large := arrow.BinaryTypes.LargeString
	for _, v := range []kernels.Scalar{
		kernels.Int(arrow.PrimitiveTypes.Int8, -3), kernels.Int64(1 << 40), kernels.Float64(2.5), kernels.Bool(true), kernels.Bool(false),
		kernels.Int(arrow.FixedWidthTypes.Date32, 19_000), kernels.String("key"), kernels.String(""), kernels.Text(large, "a longer key"),
		kernels.Null(arrow.PrimitiveTypes.Int64), kernels.Null(arrow.BinaryTypes.String), kernels.Null(large), kernels.Null(arrow.FixedWidthTypes.Boolean),
	} {
		three, err := kernels.FromScalars(memory.Heap, v.Type(), []kernels.Scalar{kernels.Null(v.Type()), v, kernels.Null(v.Type())})
		require.NoError(t, err)
		one, err := three.Slice(1, 1)
		require.NoError(t, err)
		c, err := Repeat(memory.Heap, one, 11)
		require.NoError(t, err, "%s of %s", v, v.Type())
		require.NoError(t, c.Validate())
		require.EqualValues(t, 11, c.Len())
		for i := range c.Len() {
			require.Equal(t, v, kernels.ScalarAt(c, i), "row %d of %s of %s", i, v, v.Type())
		}
		c.Release()
		one.Release()
		three.Release()
	}
	list, err := kernels.FromScalars(memory.Heap, arrow.ListOf(arrow.PrimitiveTypes.Int64), []kernels.Scalar{kernels.Null(arrow.ListOf(arrow.PrimitiveTypes.Int64))})
	require.NoError(t, err)
	defer list.Release()
	_, err = Repeat(memory.Heap, list, 2)
	require.ErrorContains(t, err, "in CSV")
}
