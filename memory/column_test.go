package memory

import (
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// counting gives an allocator whose blocks must all be freed by the end of t,
// and checks that nothing was released too often.
func counting(t *testing.T) *Counted {
	t.Helper()
	c, before := NewTraced(Heap), OverReleases()
	t.Cleanup(func() {
		if err := c.Check(); err != nil {
			t.Error(err)
		}
		if n := OverReleases() - before; n != 0 {
			t.Errorf("%d releases too many", n)
		}
	})
	return c
}

// zeros is a buffer of n zero bytes.
func zeros(t *testing.T, a Allocator, n int64) *Buffer {
	t.Helper()
	b, err := NewZeroed(a, n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// int32s is a column of values, null where valid says so (nil: nowhere).
func int32s(t *testing.T, a Allocator, values []int32, valid []bool) *Column {
	t.Helper()
	data := zeros(t, a, int64(4*len(values)))
	copy(View[int32](data), values)
	p := Parts{Type: arrow.PrimitiveTypes.Int32, Len: int64(len(values)), Nulls: UnknownNulls, Buffers: []*Buffer{nil, data}}
	if valid != nil {
		p.Buffers[0] = zeros(t, a, BitmapBytes(p.Len))
		for i, v := range valid {
			Bitmap(p.Buffers[0].Bytes()).Put(int64(i), v)
		}
	}
	c, err := NewColumn(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestColumnWindows(t *testing.T) {
	a := counting(t)
	c := int32s(t, a, []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, []bool{true, false, true, true, false, true, true, true, false, true})
	s, err := c.Slice(3, 6)
	if err != nil {
		t.Fatal(err)
	}
	u, err := s.Slice(2, 3)
	if err != nil {
		t.Fatal(err)
	}
	c.Release()
	s.Release()
	if u.Len() != 3 || u.Offset() != 5 || u.NullCount() != 0 || u.Validity() != nil || u.MayHaveNulls() {
		t.Fatalf("%d values from %d, %d nulls", u.Len(), u.Offset(), u.NullCount())
	}
	if v := Values[int32](u); len(v) != 3 || v[0] != 5 || v[2] != 7 {
		t.Fatal(v)
	}
	for _, r := range [][2]int64{{-1, 1}, {0, -1}, {2, 2}, {4, 0}, {1 << 62, 1 << 62}} {
		if _, err := u.Slice(r[0], r[1]); !errors.Is(err, ErrMismatch) {
			t.Errorf("%v: %v", r, err)
		}
	}
	empty, err := u.Slice(3, 0)
	if err != nil || empty.NullCount() != 0 || Values[int32](empty) != nil {
		t.Fatal(err)
	}
	empty.Release()
	u.Release()
}

func TestColumnNullCounts(t *testing.T) {
	a := counting(t)
	c := int32s(t, a, make([]int32, 5), []bool{true, false, false, true, false})
	if c.NullCount() != 3 || !c.MayHaveNulls() || c.Validity() == nil || !c.IsNull(1) || c.IsNull(3) {
		t.Fatalf("%d nulls", c.NullCount())
	}
	s, _ := c.Slice(1, 3)
	if s.NullCount() != 2 || !s.IsNull(0) || !s.IsNull(1) || s.IsNull(2) {
		t.Fatalf("%d nulls in the slice", s.NullCount())
	}
	s.Release()
	c.Release()

	none, err := NewColumn(Parts{Type: arrow.Null, Len: 7})
	if err != nil {
		t.Fatal(err)
	}
	n, _ := none.Slice(2, 3)
	if none.NullCount() != 7 || n.NullCount() != 3 || !n.IsNull(0) || n.Validity() != nil {
		t.Fatalf("%d and %d nulls", none.NullCount(), n.NullCount())
	}
	none.Release()
	n.Release()
}

func TestColumnOnADeviceCountsNoNulls(t *testing.T) {
	place := Place{CUDA, 0}
	bits := WrapBlock(place, Block{Handle: 1, Size: 64}, nil)
	data := WrapBlock(place, Block{Handle: 2, Size: 64}, nil)
	c, err := NewColumn(Parts{Type: arrow.PrimitiveTypes.Int8, Len: 10, Nulls: UnknownNulls, Buffers: []*Buffer{bits, data}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Place() != place || c.NullCount() != UnknownNulls || !c.MayHaveNulls() || c.Validate() != nil {
		t.Fatalf("%d nulls on %s", c.NullCount(), c.Place())
	}
	if _, err := ToArrow(c); !errors.Is(err, ErrMismatch) {
		t.Fatal(err)
	}
	c.Release()
}

func TestStructFieldsAreCutToTheWindow(t *testing.T) {
	a := counting(t)
	c, err := NewColumn(Parts{
		Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32}), Len: 3, Offset: 1,
		Children: []*Column{int32s(t, a, []int32{0, 1, 2, 3, 4}, nil)},
	})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := c.Slice(1, 2)
	f := s.Field(0)
	if v := Values[int32](f); len(v) != 2 || v[0] != 2 || c.NumChildren() != 1 || c.Child(0).Len() != 5 {
		t.Fatal(v)
	}
	f.Release()
	s.Release()
	c.Release()
}

func TestWithType(t *testing.T) {
	a := counting(t)
	c := int32s(t, a, []int32{5, 6}, []bool{true, false})
	d, err := c.WithType(arrow.FixedWidthTypes.Date32)
	if err != nil || d.Type().ID() != arrow.DATE32 || Values[int32](d)[0] != 5 || d.NullCount() != 1 || c.Type().ID() != arrow.INT32 {
		t.Fatal(err)
	}
	for _, bad := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.Null} {
		if _, err := c.WithType(bad); !errors.Is(err, ErrMismatch) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	d.Release()
	c.Release()
}

// TestColumnErrorsReleaseTheParts gives NewColumn what does not fit together;
// the counting allocator sees whether it took over the references.
func TestColumnErrorsReleaseTheParts(t *testing.T) {
	list := arrow.ListOf(arrow.PrimitiveTypes.Int32)
	pair := arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int32}, arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int32})
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.PrimitiveTypes.Int32}
	int64t := arrow.PrimitiveTypes.Int64
	cases := []struct {
		text string
		kind error
		make func(buf func(int64) *Buffer, col func(int) *Column) Parts
	}{
		{"without a type", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Len: 1, Buffers: []*Buffer{b(1)}}
		}},
		{"columns of type string_view", ErrUnsupported, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: arrow.BinaryTypes.StringView, Len: 1, Buffers: []*Buffer{b(1), b(1), b(1), b(1)}}
		}},
		{"a column of -1 values", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: int64t, Len: -1, Buffers: []*Buffer{nil, b(8)}}
		}},
		{"from offset -2", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: int64t, Len: 1, Offset: -2, Buffers: []*Buffer{nil, b(8)}}
		}},
		{"from offset 1152921504606846976", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: &arrow.Decimal128Type{Precision: 9}, Offset: 1 << 60, Buffers: []*Buffer{nil, b(8)}} // 16 times that is 0
		}},
		{"3 nulls in a column of 2", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: int64t, Len: 2, Nulls: 3, Buffers: []*Buffer{b(1), b(16)}}
		}},
		{"-2 nulls", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: int64t, Len: 2, Nulls: -2, Buffers: []*Buffer{b(1), b(16)}}
		}},
		{"without a validity bitmap", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: int64t, Len: 2, Nulls: 1, Buffers: []*Buffer{nil, b(16)}}
		}},
		{"3 buffers for int64, which has 2", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: int64t, Len: 2, Buffers: []*Buffer{nil, b(16), b(8)}}
		}},
		{"5 buffers for utf8", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: arrow.BinaryTypes.String, Len: 1, Buffers: []*Buffer{nil, b(16), b(8), b(1), b(1)}}
		}},
		{"buffer 1 of a column of int64 is missing", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: int64t, Len: 2, Buffers: []*Buffer{b(1)}}
		}},
		{"holds 15 bytes, not 16", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: int64t, Len: 1, Offset: 1, Buffers: []*Buffer{nil, b(15)}}
		}},
		{"buffer 0 of 9 values", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: arrow.PrimitiveTypes.Int8, Len: 9, Buffers: []*Buffer{b(1), b(9)}}
		}},
		{"holds 8 bytes, not 12", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: arrow.BinaryTypes.String, Len: 2, Buffers: []*Buffer{nil, b(8), b(8)}}
		}},
		{"with 0 children", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: list, Len: 1, Buffers: []*Buffer{nil, b(8)}}
		}},
		{"with items of int32", ErrMismatch, func(b func(int64) *Buffer, c func(int) *Column) Parts {
			return Parts{Type: arrow.ListOf(int64t), Len: 1, Buffers: []*Buffer{nil, b(8)}, Children: []*Column{c(1)}}
		}},
		{"with 1 children", ErrMismatch, func(_ func(int64) *Buffer, c func(int) *Column) Parts {
			return Parts{Type: pair, Len: 1, Children: []*Column{c(1)}}
		}},
		{`field "y" of 3 values`, ErrMismatch, func(_ func(int64) *Buffer, c func(int) *Column) Parts {
			return Parts{Type: pair, Len: 3, Children: []*Column{c(3), c(2)}}
		}},
		{"is missing", ErrMismatch, func(_ func(int64) *Buffer, c func(int) *Column) Parts {
			return Parts{Type: pair, Len: 3, Children: []*Column{c(3), nil}}
		}},
		{"without a dictionary of that type", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: dict, Len: 3, Buffers: []*Buffer{nil, b(3)}}
		}},
		{"int64 with 1 children and a dictionary (false)", ErrMismatch, func(b func(int64) *Buffer, c func(int) *Column) Parts {
			return Parts{Type: int64t, Len: 1, Buffers: []*Buffer{nil, b(8)}, Children: []*Column{c(1)}}
		}},
		{"list<item: int32, nullable> with 1 children and a dictionary (true)", ErrMismatch, func(b func(int64) *Buffer, c func(int) *Column) Parts {
			return Parts{Type: list, Len: 1, Buffers: []*Buffer{nil, b(8)}, Children: []*Column{c(1)}, Dictionary: c(1)}
		}},
		{"has parts on cpu and on cuda:0", ErrMismatch, func(b func(int64) *Buffer, _ func(int) *Column) Parts {
			return Parts{Type: int64t, Len: 1, Buffers: []*Buffer{b(8), WrapBlock(Place{CUDA, 0}, Block{Size: 8}, nil)}}
		}},
	}
	for _, c := range cases {
		t.Run(strings.ReplaceAll(c.text, " ", "_"), func(t *testing.T) {
			a := counting(t)
			p := c.make(func(n int64) *Buffer { return zeros(t, a, n) }, func(n int) *Column { return int32s(t, a, make([]int32, n), nil) })
			got, err := NewColumn(p)
			if got != nil || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v, %v", got, err)
			}
		})
	}
}

// TestPlacesOfTheHost makes columns of a slice of the host and of memory that is
// pinned for a device, in any order.
func TestPlacesOfTheHost(t *testing.T) {
	pinned := func() *Buffer { return WrapBlock(Place{CUDAHost, 1}, Block{Bytes: make([]byte, 8), Size: 8}, nil) }
	host := func() *Buffer { return Wrap(make([]byte, 8), nil) }
	for _, c := range []struct {
		buffers []*Buffer
		want    Place
	}{
		{[]*Buffer{pinned(), host()}, Host}, {[]*Buffer{host(), pinned()}, Host},
		{[]*Buffer{pinned(), pinned()}, Place{CUDAHost, 1}}, {[]*Buffer{nil, pinned()}, Place{CUDAHost, 1}},
	} {
		got, err := NewColumn(Parts{Type: arrow.PrimitiveTypes.Int64, Len: 1, Buffers: c.buffers})
		if err != nil {
			t.Fatal(err)
		}
		if got.Place() != c.want {
			t.Errorf("on %s, want %s", got.Place(), c.want)
		}
		got.Release()
	}
	device := WrapBlock(Place{CUDA, 1}, Block{Size: 8}, nil)
	got, err := NewColumn(Parts{Type: arrow.PrimitiveTypes.Int64, Len: 1, Buffers: []*Buffer{pinned(), device}})
	if got != nil || !errors.Is(err, ErrMismatch) {
		t.Errorf("pinned for a device and on it: %v, %v", got, err)
	}
}
