package dataloader

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/memory"
)

// TestColumnBytes: a window of a column counts as its values, their validity and
// their items.
func TestColumnBytes(t *testing.T) {
	_, a := onHost(t)
	room := func(n int64) *memory.Buffer {
		b, err := memory.NewZeroed(a, n)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	offsets := func(n, each int32) *memory.Buffer {
		b := room(int64(n+1) * 4)
		for i := range memory.View[int32](b) {
			memory.View[int32](b)[i] = int32(i) * each
		}
		return b
	}
	column := func(p memory.Parts) *memory.Column {
		c, err := memory.NewColumn(p)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const rows = 800
	word := func(n int64) *memory.Column {
		return column(memory.Parts{Type: arrow.PrimitiveTypes.Int32, Len: n, Buffers: []*memory.Buffer{nil, room(4 * n)}})
	}
	for name, c := range map[string]struct {
		of      *memory.Column
		of80    int64 // bytes of rows 8 to 88
		ofEmpty int64
	}{
		"numbers": {word(rows), 320, 0},
		"nulls": {column(memory.Parts{Type: arrow.PrimitiveTypes.Int64, Len: rows, Nulls: memory.UnknownNulls,
			Buffers: []*memory.Buffer{room(rows / 8), room(8 * rows)}}), 10 + 640, 0},
		"bits":  {column(memory.Parts{Type: arrow.FixedWidthTypes.Boolean, Len: rows, Buffers: []*memory.Buffer{nil, room(rows / 8)}}), 10, 0},
		"texts": {column(memory.Parts{Type: arrow.BinaryTypes.String, Len: rows, Buffers: []*memory.Buffer{nil, offsets(rows, 3), room(3 * rows)}}), 4*81 + 240, 0},
		"lists": {column(memory.Parts{Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Len: rows, Buffers: []*memory.Buffer{nil, offsets(rows, 2)},
			Children: []*memory.Column{word(2 * rows)}}), 4*81 + 80*2*4, 0},
		"records": {column(memory.Parts{Type: arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int32}), Len: rows, Buffers: []*memory.Buffer{nil},
			Children: []*memory.Column{word(rows)}}), 320, 0},
		"names": {column(memory.Parts{Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.PrimitiveTypes.Int32}, Len: rows,
			Buffers: []*memory.Buffer{nil, room(2 * rows)}, Dictionary: word(5)}), 160 + 20, 20},
	} {
		for n, want := range map[int64]int64{80: c.of80, 0: c.ofEmpty} {
			window, err := c.of.Slice(8, n)
			if err != nil {
				t.Fatal(err)
			}
			if got := columnBytes(window); got != want {
				t.Errorf("%s: %d rows take %d bytes, not %d", name, n, got, want)
			}
			window.Release()
		}
		c.of.Release()
	}
}
