package moments

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// bufferOf is the memory of a slice.
func bufferOf[T any](values []T) *memory.Buffer {
	return memory.Wrap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(values[0]))), nil)
}

// columnOf is a column of values without nulls.
func columnOf[T any](t *testing.T, typ arrow.DataType, values []T) *memory.Column {
	t.Helper()
	c, err := memory.NewColumn(memory.Parts{Type: typ, Len: int64(len(values)), Buffers: []*memory.Buffer{nil, bufferOf(values)}})
	require.NoError(t, err)
	t.Cleanup(c.Release)
	return c
}

// exactly is an integer as a sum.
func exactly(v *big.Int) sum128 {
	if v.Sign() < 0 {
		v = new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	low := new(big.Int).And(v, new(big.Int).SetUint64(math.MaxUint64))
	return sum128{low.Uint64(), new(big.Int).Rsh(v, 64).Uint64()}
}

// Integers of 128 bits are cut, multiplied and made floats as big ones are, of both signs and at the edges of 64 bits.
func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		v := new(big.Int).Lsh(big.NewInt(r.Int64()), uint(r.IntN(60)))
		if r.IntN(2) == 0 {
			v.Neg(v)
		}
		n := uint64(1 + r.Int64N(1<<r.IntN(50)))
		q, rest := new(big.Int).QuoRem(v, new(big.Int).SetUint64(n), new(big.Int))
		gotQ, gotRest := exactly(v).over(n)
		require.Equal(t, []sum128{exactly(q), exactly(rest)}, []sum128{gotQ, gotRest}, "%s over %d", v, n)
		require.Equal(t, exactly(new(big.Int).Mul(q, new(big.Int).SetUint64(n))), gotQ.times(n))
		require.Equal(t, exactly(rest), exactly(v).minus(gotQ.times(n)))
		f, _ := new(big.Float).SetInt(v).Float64()
		require.Equal(t, f, exactly(v).float())
	}
}

// A group's variance is that of all values of its parts, of decimals that float64 does not tell apart too; parts without values,
// and rows of no group, count nothing.
func TestVariance(t *testing.T) {
	base, _ := new(big.Int).SetString("123456789012345678901234", 10)
	n, v := []int64{3, 0, 1, 2, 5}, []float64{2.0 / 3, math.NaN(), 0, 0.25, math.Inf(1)}
	offsets := [][]int64{{1, 2, 3}, {}, {10}, {-4, -3}, {1, 2, 3, 4, 5}}
	var sums, total []sum128
	all := new(big.Int)
	for i, o := range offsets {
		sum := new(big.Int)
		for _, x := range o {
			sum.Add(sum, base).Add(sum, big.NewInt(x))
		}
		if i < 4 {
			all.Add(all, sum)
		}
		sums = append(sums, exactly(sum))
	}
	total = append(total, exactly(all))
	v[0], v[3] = v[0]/100, v[3]/100 // of values with one digit behind the point
	decimals := &arrow.Decimal128Type{Precision: 38, Scale: 1}
	ids := make([]uint32, 5)
	valid := bufferOf([]byte{0b01111, 0, 0, 0, 0, 0, 0, 0})
	groups, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Uint32, Len: 5, Nulls: 1, Buffers: []*memory.Buffer{valid, bufferOf(ids)}})
	require.NoError(t, err)
	defer groups.Release()
	parts := Totals{columnOf(t, arrow.PrimitiveTypes.Int64, n), columnOf(t, decimals, sums)}
	whole := Totals{columnOf(t, arrow.PrimitiveTypes.Int64, []int64{6}), columnOf(t, decimals, total)}
	variances := columnOf(t, arrow.PrimitiveTypes.Float64, v)
	got, err := Variance(t.Context(), groups, parts, variances, whole)
	require.NoError(t, err)
	require.InDelta(t, 0.20916666666666667, got[0], 1e-15) // of 0.1, 0.2, 0.3, 1, -0.4 and -0.3

	ended, stop := context.WithCancel(t.Context())
	stop()
	_, err = Variance(ended, groups, parts, variances, whole)
	require.ErrorIs(t, err, device.ErrCanceled)
}
