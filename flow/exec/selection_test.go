package exec

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/memory"
)

// maskColumn is a mask that begins at a bit of its buffers: of any first byte the bits before it are set.
func maskColumn(t *testing.T, rows, offset int64, yes, valid func(int64) bool) *memory.Column {
	t.Helper()
	var buffers []*memory.Buffer
	for _, of := range []func(int64) bool{valid, yes} {
		b, err := memory.NewZeroed(memory.Heap, memory.BitmapBytes(rows+offset))
		require.NoError(t, err)
		for i := range rows + offset {
			if i < offset || of(i-offset) {
				memory.Bitmap(b.Bytes()).Set(i)
			}
		}
		buffers = append(buffers, b)
	}
	c, err := memory.NewColumn(memory.Parts{Type: arrow.FixedWidthTypes.Boolean, Len: rows, Offset: offset, Nulls: -1, Buffers: buffers, Place: memory.Host})
	require.NoError(t, err)
	return c
}

// A mask of the rows of a mask is put back among all rows, whatever bit both begin at.
func TestAmong(t *testing.T) {
	for _, rows := range []int64{0, 1, 63, 64, 65, 200} {
		for _, offset := range []int64{0, 3, 8} {
			for _, every := range []int64{1, 2, 7, 1000} {
				yes := func(i int64) bool { return (i+1)%every == 0 }
				valid := func(i int64) bool { return i%5 != 2 }
				mask := maskColumn(t, rows, offset, yes, valid)
				var numbers []uint32
				for i := range rows {
					if yes(i) && valid(i) {
						numbers = append(numbers, uint32(i))
					}
				}
				require.EqualValues(t, len(numbers), CountTrue(mask))
				got, err := RowNumbers(memory.Heap, mask)
				require.NoError(t, err)
				require.Equal(t, append([]uint32{}, numbers...), append([]uint32{}, memory.Values[uint32](got)...))
				kept := maskColumn(t, int64(len(numbers)), offset, func(k int64) bool { return k%3 != 0 }, func(k int64) bool { return k%4 != 1 })
				among, err := Among(memory.Heap, mask, kept)
				require.NoError(t, err)
				want := map[int64]bool{}
				for k, i := range numbers {
					want[int64(i)] = k%3 != 0 && k%4 != 1
				}
				for i := range rows {
					require.Equal(t, want[i], among.Bits().Get(i), "row %d of %d", i, rows)
				}
				for _, c := range []*memory.Column{mask, got, kept, among} {
					c.Release()
				}
			}
		}
	}
}
