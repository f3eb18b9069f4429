package memory

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// raw is a buffer over a copy of values.
func raw[T any](t *testing.T, a Allocator, values ...T) *Buffer {
	t.Helper()
	var v T
	b := zeros(t, a, int64(len(values))*sizeOf(v))
	copy(View[T](b), values)
	return b
}

func sizeOf(v any) int64 {
	switch v.(type) {
	case int8, uint8:
		return 1
	case int16, uint16:
		return 2
	case int32, uint32:
		return 4
	}
	return 8
}

func TestValidateNamesTheBadRow(t *testing.T) {
	indices := func(it arrow.DataType) *arrow.DictionaryType {
		return &arrow.DictionaryType{IndexType: it, ValueType: arrow.PrimitiveTypes.Int32}
	}
	p := arrow.PrimitiveTypes
	text := arrow.BinaryTypes.String
	cases := []struct {
		want string // "" for a good column
		make func(a Allocator) Parts
	}{
		{"", func(a Allocator) Parts {
			return Parts{Type: text, Len: 3, Buffers: []*Buffer{nil, raw[int32](t, a, 0, 2, 2, 5), raw[byte](t, a, 1, 2, 3, 4, 5)}}
		}},
		{"row 2 of utf8: offset 1 after 2", func(a Allocator) Parts {
			return Parts{Type: text, Len: 3, Buffers: []*Buffer{nil, raw[int32](t, a, 0, 2, 1, 5), raw[byte](t, a, 1, 2, 3, 4, 5)}}
		}},
		{"row 3 of utf8: offset 6", func(a Allocator) Parts {
			return Parts{Type: text, Len: 3, Buffers: []*Buffer{nil, raw[int32](t, a, 0, 2, 2, 6), raw[byte](t, a, 1, 2, 3, 4, 5)}}
		}},
		{"row 0 of utf8: offset -1", func(a Allocator) Parts {
			return Parts{Type: text, Len: 1, Buffers: []*Buffer{nil, raw[int32](t, a, -1, 2), raw[byte](t, a, 1, 2)}}
		}},
		{"row 1 of utf8: offset 2 after 0 in 0", func(a Allocator) Parts {
			return Parts{Type: text, Len: 1, Buffers: []*Buffer{nil, raw[int32](t, a, 0, 2)}}
		}},
		{"", func(a Allocator) Parts { // what lies ahead of the window does not matter
			return Parts{Type: text, Len: 1, Offset: 1, Buffers: []*Buffer{nil, raw[int32](t, a, 99, 0, 2), raw[byte](t, a, 1, 2)}}
		}},
		{"row 1 of large_utf8: offset 4294967297", func(a Allocator) Parts {
			return Parts{Type: arrow.BinaryTypes.LargeString, Len: 1, Buffers: []*Buffer{nil, raw[int64](t, a, 0, 1<<32+1), raw[byte](t, a, 1)}}
		}},
		{"row 1 of list<item: int32, nullable>: offset 3", func(a Allocator) Parts {
			return Parts{Type: arrow.ListOf(p.Int32), Len: 1, Buffers: []*Buffer{nil, raw[int32](t, a, 0, 3)}, Children: []*Column{int32s(t, a, make([]int32, 2), nil)}}
		}},
		{"row 1 of large_list<item: int32, nullable>: offset 3", func(a Allocator) Parts {
			return Parts{Type: arrow.LargeListOf(p.Int32), Len: 1, Buffers: []*Buffer{nil, raw[int64](t, a, 0, 3)}, Children: []*Column{int32s(t, a, make([]int32, 2), nil)}}
		}},
		{"index 2 in a dictionary of 2", func(a Allocator) Parts {
			return Parts{Type: indices(p.Int8), Len: 2, Buffers: []*Buffer{nil, raw[int8](t, a, 1, 2)}, Dictionary: int32s(t, a, make([]int32, 2), nil)}
		}},
		{"row 1 of dictionary<values=int32, indices=int16, ordered=false>: index -1", func(a Allocator) Parts {
			return Parts{Type: indices(p.Int16), Len: 2, Buffers: []*Buffer{nil, raw[int16](t, a, 1, -1)}, Dictionary: int32s(t, a, make([]int32, 2), nil)}
		}},
		{"row 0 of dictionary", func(a Allocator) Parts {
			return Parts{Type: indices(p.Uint64), Len: 1, Buffers: []*Buffer{nil, raw[uint64](t, a, 1<<63)}, Dictionary: int32s(t, a, make([]int32, 2), nil)}
		}},
		{"", func(a Allocator) Parts { // an index under a null does not matter
			return Parts{Type: indices(p.Uint8), Len: 2, Nulls: 1, Buffers: []*Buffer{raw[byte](t, a, 2), raw[uint8](t, a, 200, 1)}, Dictionary: int32s(t, a, make([]int32, 2), nil)}
		}},
		{"is said to have 0 nulls and has 1", func(a Allocator) Parts {
			return Parts{Type: p.Int8, Len: 2, Buffers: []*Buffer{raw[byte](t, a, 2), raw[int8](t, a, 0, 0)}}
		}},
		{"is said to have 1 nulls and has 2", func(a Allocator) Parts { // in a child
			items, err := NewColumn(Parts{Type: p.Int8, Len: 2, Nulls: 1, Buffers: []*Buffer{raw[byte](t, a, 0), raw[int8](t, a, 0, 0)}})
			if err != nil {
				t.Fatal(err)
			}
			return Parts{Type: arrow.StructOf(arrow.Field{Name: "x", Type: p.Int8}), Len: 2, Children: []*Column{items}}
		}},
	}
	for i, c := range cases {
		col, err := NewColumn(c.make(counting(t)))
		if err != nil {
			t.Fatalf("case %d: %v", i, err)
		}
		err = col.Validate()
		if (c.want == "") != (err == nil) || err != nil && (!errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("case %d: got %v, want %q", i, err, c.want)
		}
		col.Release()
	}
}

func TestIndexOfEveryWidth(t *testing.T) {
	a := counting(t)
	p := arrow.PrimitiveTypes
	for _, c := range []struct {
		t arrow.DataType
		b *Buffer
	}{
		{p.Int8, raw[int8](t, a, 9, 0, 3)}, {p.Int16, raw[int16](t, a, 9, 0, 3)}, {p.Int32, raw[int32](t, a, 9, 0, 3)}, {p.Int64, raw[int64](t, a, 9, 0, 3)},
		{p.Uint8, raw[uint8](t, a, 9, 0, 3)}, {p.Uint16, raw[uint16](t, a, 9, 0, 3)}, {p.Uint32, raw[uint32](t, a, 9, 0, 3)}, {p.Uint64, raw[uint64](t, a, 9, 0, 3)},
	} {
		d, err := NewColumn(Parts{Type: &arrow.DictionaryType{IndexType: c.t, ValueType: p.Int32}, Len: 2, Offset: 1,
			Buffers: []*Buffer{nil, c.b}, Dictionary: int32s(t, a, make([]int32, 4), nil)})
		if err != nil {
			t.Fatal(err)
		}
		if d.Index(0) != 0 || d.Index(1) != 3 || d.Validate() != nil {
			t.Errorf("%s: %d, %d, %v", c.t, d.Index(0), d.Index(1), d.Validate())
		}
		d.Release()
	}
}
