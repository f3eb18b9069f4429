package gpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
)

// Row numbers of both widths: of set bits, in order, and what they gather.
func TestRows(t *testing.T) {
	onDevices(t, func(t *testing.T, c *call) {
		for _, n := range []int{1, 31, 33, 2047, 2048, 2049, 16384, 40_001} {
			for _, width := range []int{4, 8} {
				t.Run(fmt.Sprint(n, " ", width), func(t *testing.T) { testRows(t, c, n, width) })
			}
		}
	})
}

func testRows(t *testing.T, c *call, n, width int) {
	r := rand.New(rand.NewPCG(uint64(n), 3))
	flags, values := make([]kernels.Scalar, n), make([]kernels.Scalar, n)
	var set []uint64
	var taken []kernels.Scalar
	for i := range flags {
		values[i] = kernels.Int64(r.Int64())
		if flags[i] = kernels.Bool(r.IntN(4) == 0); flags[i].Bool() && i >= 1 {
			set, taken = append(set, uint64(i-1)), append(taken, values[i])
		}
	}
	bits := onDevice(t, c, arrow.FixedWidthTypes.Boolean, flags)
	col := onDevice(t, c, values[0].Type(), values)
	v := c.bits(bits)
	v.at++ // a bitmap that does not begin with a byte
	rows, count := c.compact(v, int64(n-1), width)
	if count != int64(len(set)) || !slices.Equal(bytesWords(c.read(rows, 0, count*int64(width)), width), set) {
		t.Fatalf("%d bits set, not %d, or others", count, len(set))
	}
	window, err := col.Slice(1, int64(n-1))
	if err != nil {
		t.Fatal(err)
	}
	defer window.Release()
	holds(t, c, c.give(c.gather(window, rows, width, count, false)), c.err, taken)

	numbers := c.iota(int64(n), width)
	for i, v := range bytesWords(c.read(numbers, 0, int64(n*width)), width) {
		if v != uint64(i) {
			t.Fatalf("number %d is %d", i, v)
		}
	}
	none := make([]uint64, n) // every other row is none
	for i := range none {
		if none[i] = uint64(i); i%2 == 1 {
			none[i], values[i] = ^uint64(0), kernels.Null(values[i].Type())
		}
	}
	holds(t, c, c.give(c.gather(col, c.upload(wordBytes(none, width)), width, int64(n), true)), c.err, values)
}
