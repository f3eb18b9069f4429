package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// nullable is a column of n int8 values from the given offset with about one
// null in every.
func nullable(t *testing.T, r *rand.Rand, offset, n int64, every int) *memory.Column {
	t.Helper()
	values := memory.Wrap(make([]byte, offset+n), nil)
	bitmap := memory.Wrap(make([]byte, memory.BitmapBytes(offset+n)), nil)
	for i := range offset + n {
		memory.Bitmap(bitmap.Bytes()).Put(i, r.IntN(every) != 0)
	}
	c, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Int8, Len: n, Offset: offset,
		Nulls: memory.UnknownNulls, Buffers: []*memory.Buffer{bitmap, values}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCombineValidity(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int64{0, 1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 1000} {
		for _, offsets := range [][2]int64{{0, 0}, {3, 0}, {8, 5}, {64, 63}} {
			a, b := nullable(t, r, offsets[0], n, 3), nullable(t, r, offsets[1], n, 5)
			buf, nulls, err := combineValidity(memory.Heap, n, a, nil, b)
			if err != nil {
				t.Fatal(err)
			}
			var want int64
			for i := range n {
				null := a.IsNull(i) || b.IsNull(i)
				if null {
					want++
				}
				if buf != nil && memory.Bitmap(buf.Bytes()).Get(i) == null {
					t.Fatalf("n %d offsets %v row %d: null is %v", n, offsets, i, null)
				}
			}
			if nulls != want || (buf == nil) != (want == 0) {
				t.Errorf("n %d offsets %v: %d nulls, want %d", n, offsets, nulls, want)
			}
			if buf != nil && n&7 != 0 && buf.Bytes()[buf.Len()-1]>>(n&7) != 0 {
				t.Errorf("n %d: bits after the last row are set", n)
			}
		}
	}
}

func TestCombineValidityShares(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	a := nullable(t, r, 0, 100, 3)
	buf, _, err := combineValidity(memory.Heap, 100, a)
	if err != nil || buf != a.Buffer(0) || buf.Refs() != 2 {
		t.Fatalf("the only bitmap is not shared: %v, %v", buf, err)
	}
	all, err := memory.NewColumn(memory.Parts{Type: arrow.Null, Len: 70})
	if err != nil {
		t.Fatal(err)
	}
	_, nulls, err := combineValidity(memory.Heap, 70, all)
	if err != nil || nulls != 70 {
		t.Fatalf("null column: %d nulls, %v", nulls, err)
	}
}
