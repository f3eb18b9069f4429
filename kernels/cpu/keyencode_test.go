package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/memory"
)

// TestRangeOfValid: the range of a span is that of the rows that are not null, from any row and
// bit on, whatever nulls hold.
func TestRangeOfValid(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for n := range 400 {
		rows := int64(r.IntN(300))
		values, err := memory.New(memory.Heap, rows+1)
		if err != nil {
			t.Fatal(err)
		}
		valid, err := memory.New(memory.Heap, memory.BitmapBytes(rows+1))
		if err != nil {
			t.Fatal(err)
		}
		clear(valid.Bytes())
		nulls := rows + 1
		for i := range rows + 1 {
			memory.View[int8](values)[i] = int8(r.Uint32())
			if r.IntN(n%5+1) == 0 && n%7 != 0 {
				memory.Bitmap(valid.Bytes()).Set(i)
				nulls--
			}
		}
		c, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Int8, Len: rows + 1, Nulls: nulls, Buffers: []*memory.Buffer{valid, values}})
		if err != nil {
			t.Fatal(err)
		}
		from := int64(r.IntN(int(rows) + 1))
		s := span{from: from, to: from + int64(r.IntN(int(rows+1-from)+1))}
		low, high, any := int8(0), int8(0), false
		for i, v := range memory.Values[int8](c)[s.from:s.to] {
			switch {
			case isNull(c, s.from+int64(i)):
			case !any:
				low, high, any = v, v, true
			default:
				low, high = min(low, v), max(high, v)
			}
		}
		if l, h, a := rangeOfValid(c, memory.Values[int8](c), s); a != any || any && (l != low || h != high) {
			t.Errorf("rows %d to %d of %d: %d to %d, %t; not %d to %d, %t", s.from, s.to, rows+1, l, h, a, low, high, any)
		}
		c.Release()
	}
}
