package memory_test

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/volley-go/volley/memory"
)

// arrowCases are arrays of every type that a column takes, as JSON.
func arrowCases() map[string]struct {
	t    arrow.DataType
	json string
} {
	type c = struct {
		t    arrow.DataType
		json string
	}
	p, f, b := arrow.PrimitiveTypes, arrow.FixedWidthTypes, arrow.BinaryTypes
	pair := arrow.StructOf(arrow.Field{Name: "x", Type: p.Int32, Nullable: true}, arrow.Field{Name: "s", Type: b.String, Nullable: true})
	words := &arrow.DictionaryType{IndexType: p.Uint8, ValueType: b.String}
	return map[string]c{
		"null": {arrow.Null, `[null, null, null]`}, "bool": {f.Boolean, `[true, null, false, true]`},
		"int8": {p.Int8, `[1, null, -3]`}, "int16": {p.Int16, `[1, null, -3]`}, "int32": {p.Int32, `[1, null, -3]`}, "int64": {p.Int64, `[1, null, -3]`},
		"uint8": {p.Uint8, `[1, null, 3]`}, "uint16": {p.Uint16, `[1, null, 3]`}, "uint32": {p.Uint32, `[1, null, 3]`}, "uint64": {p.Uint64, `[1, null, 3]`},
		"float16": {f.Float16, `[1.5, null, -3]`}, "float32": {p.Float32, `[1.5, null, -3]`}, "float64": {p.Float64, `[1.5, 2, -3]`},
		"decimal128": {&arrow.Decimal128Type{Precision: 20, Scale: 2}, `["1.25", null, "-3.50"]`},
		"date32":     {f.Date32, `["2024-02-29", null, "1969-12-31"]`}, "date64": {f.Date64, `["2024-02-29", null, "1969-12-31"]`},
		"time32": {f.Time32ms, `["12:34:56.789", null, "00:00:00"]`}, "time64": {f.Time64ns, `["12:34:56.789", null, "00:00:00"]`},
		"timestamp": {&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Europe/Berlin"}, `["2024-02-29 12:00:00Z", null, "1969-12-31 23:59:59Z"]`},
		"duration":  {f.Duration_ms, `["5ms", null, "7ms"]`},
		"utf8":      {b.String, `["volley", null, "", "x"]`}, "large_utf8": {b.LargeString, `["volley", null, ""]`},
		"binary": {b.Binary, `["AAEC", null, ""]`}, "large_binary": {b.LargeBinary, `["AAEC", null, ""]`},
		"list":         {arrow.ListOf(p.Int64), `[[1, null], null, [], [7]]`},
		"large_list":   {arrow.LargeListOf(b.String), `[["a", null], null, []]`},
		"struct":       {pair, `[{"x": 1, "s": "a"}, null, {"x": null, "s": null}, {"x": 4, "s": "d"}]`},
		"dictionary":   {words, `["a", null, "b", "a"]`},
		"list_struct":  {arrow.ListOf(pair), `[[{"x": 1, "s": "a"}, null], null, []]`},
		"list_list":    {arrow.ListOf(arrow.ListOf(p.Int8)), `[[[1], []], null, [null, [2, 3]]]`},
		"struct_dict":  {arrow.StructOf(arrow.Field{Name: "d", Type: words, Nullable: true}), `[{"d": "a"}, null, {"d": null}]`},
		"nothing":      {b.String, `[]`},
		"no_items":     {arrow.ListOf(p.Int64), `[]`},
		"no_nulls":     {p.Int64, `[1, 2, 3]`},
		"null_strings": {b.String, `[null, null]`},
	}
}

// address compares a tree of arrow data with one of columns, by address.
func address(t *testing.T, d arrow.ArrayData, c *memory.Column) {
	t.Helper()
	if int64(d.Len()) != c.Len() || int64(d.Offset()) != c.Offset() || !arrow.TypeEqual(d.DataType(), c.Type()) {
		t.Fatalf("%s: %d values from %d; %s: %d from %d", d.DataType(), d.Len(), d.Offset(), c.Type(), c.Len(), c.Offset())
	}
	for i, b := range d.Buffers() {
		have := c.Buffer(i)
		if (b == nil || b.Len() == 0) && (have == nil || have.Len() == 0) {
			continue
		}
		if b == nil || have == nil || int64(b.Len()) != have.Len() || unsafe.SliceData(b.Bytes()) != unsafe.SliceData(have.Bytes()) {
			t.Fatalf("%s: buffer %d was copied", d.DataType(), i)
		}
	}
	for i, child := range d.Children() {
		address(t, child, c.Child(i))
	}
	if c.Dictionary() != nil {
		address(t, d.Dictionary(), c.Dictionary())
	}
}

func TestArrowCrossesWithoutACopy(t *testing.T) {
	for name, c := range arrowCases() {
		t.Run(name, func(t *testing.T) {
			mem := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			before := memory.OverReleases()
			whole, _, err := array.FromJSON(mem, c.t, strings.NewReader(c.json))
			if err != nil {
				t.Fatal(err)
			}
			n := int64(whole.Len())
			for _, w := range [][2]int64{{0, n}, {min(1, n), n}, {min(1, n), min(2, n)}, {n, n}} {
				a := array.NewSlice(whole, w[0], w[1])
				col, err := memory.FromArrow(a)
				if err != nil {
					t.Fatal(err)
				}
				address(t, a.Data(), col)
				if err := col.Validate(); err != nil {
					t.Fatal(err)
				}
				if col.NullCount() != int64(a.NullN()) {
					t.Fatalf("%d nulls, not %d", col.NullCount(), a.NullN())
				}
				for i := range a.Len() {
					want := a.IsNull(i) || c.t == arrow.Null // arrow-go says false of null arrays without a bitmap
					if want != col.IsNull(int64(i)) {
						t.Fatalf("row %d: null %v", i, col.IsNull(int64(i)))
					}
				}
				back, err := memory.ToArrow(col)
				if err != nil {
					t.Fatal(err)
				}
				address(t, back.Data(), col)
				if !array.Equal(a, back) {
					t.Fatalf("%v became %v", a, back)
				}
				text := a.String()
				a.Release() // the others keep the bytes, in whatever order they go
				col.Release()
				if back.String() != text {
					t.Fatalf("%v changed to %v", text, back)
				}
				back.Release()
			}
			whole.Release()
			if n := memory.OverReleases() - before; n != 0 {
				t.Fatalf("%d releases too many", n)
			}
		})
	}
}

// TestSlicesOfColumnsCross slices on this side of the border.
func TestSlicesOfColumnsCross(t *testing.T) {
	for name, c := range arrowCases() {
		t.Run(name, func(t *testing.T) {
			mem := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			a, _, err := array.FromJSON(mem, c.t, strings.NewReader(c.json))
			if err != nil {
				t.Fatal(err)
			}
			defer a.Release()
			col, err := memory.FromArrow(a)
			if err != nil {
				t.Fatal(err)
			}
			defer col.Release()
			for from := int64(0); from <= col.Len(); from++ {
				s, err := col.Slice(from, col.Len()-from)
				if err != nil {
					t.Fatal(err)
				}
				got, err := memory.ToArrow(s)
				if err != nil {
					t.Fatal(err)
				}
				want := array.NewSlice(a, from, col.Len())
				if !array.Equal(want, got) || got.NullN() != want.NullN() {
					t.Fatalf("from %d: %v, not %v", from, got, want)
				}
				s.Release()
				got.Release()
				want.Release()
			}
		})
	}
}

// TestColumnsOfOurOwnCross makes a column in counted memory.
func TestColumnsOfOurOwnCross(t *testing.T) {
	count := memory.NewTraced(memory.Heap)
	data, err := memory.NewZeroed(count, 24)
	if err != nil {
		t.Fatal(err)
	}
	copy(memory.View[int64](data), []int64{5, 6, 7})
	col, err := memory.NewColumn(memory.Parts{Type: arrow.PrimitiveTypes.Int64, Len: 2, Offset: 1, Buffers: []*memory.Buffer{nil, data}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := memory.ToArrow(col)
	if err != nil {
		t.Fatal(err)
	}
	again, err := memory.FromArrow(a)
	if err != nil {
		t.Fatal(err)
	}
	col.Release()
	a.Release()
	if v := memory.Values[int64](again); len(v) != 2 || v[0] != 6 || v[1] != 7 || count.Stats().Blocks != 1 {
		t.Fatal(v)
	}
	again.Release()
	if err := count.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestArraysWithoutALayoutAreRefused(t *testing.T) {
	mem := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	p := arrow.PrimitiveTypes
	view := arrow.Field{Name: "v", Type: arrow.FixedWidthTypes.MonthInterval, Nullable: true}
	good := arrow.Field{Name: "g", Type: p.Int8, Nullable: true}
	for _, c := range []struct {
		t    arrow.DataType
		json string
		text string
	}{
		{&arrow.Decimal256Type{Precision: 40}, `["1", null]`, "decimal256"},
		{arrow.FixedWidthTypes.MonthInterval, `[{"months": 3}]`, "month_interval"},
		{arrow.MapOf(p.Int8, p.Int8), `[[{"key": 1, "value": 1}]]`, "map"},
		{arrow.StructOf(good, view), `[{"g": 1, "v": {"months": 2}}, null]`, `field "v"`},
		{arrow.ListOf(arrow.StructOf(good, view)), `[[{"g": 1, "v": {"months": 2}}, null]]`, `field "item": field "v"`},
	} {
		a, _, err := array.FromJSON(mem, c.t, strings.NewReader(c.json))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := memory.FromArrow(a); !errors.Is(err, memory.ErrUnsupported) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.t, err)
		}
		a.Release()
	}
	dict := &arrow.DictionaryType{IndexType: p.Int8, ValueType: &arrow.Decimal256Type{Precision: 40}}
	a, _, err := array.FromJSON(mem, dict, strings.NewReader(`["1", null]`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := memory.FromArrow(a); !errors.Is(err, memory.ErrUnsupported) || !strings.Contains(err.Error(), "decimal256") {
		t.Error(err)
	}
	a.Release()
}

func TestColumnsThatContradictThemselvesAreRefused(t *testing.T) {
	count := memory.NewTraced(memory.Heap)
	offsets, err := memory.NewZeroed(count, 12)
	if err != nil {
		t.Fatal(err)
	}
	copy(memory.View[int32](offsets), []int32{0, 5, 99})
	col, err := memory.NewColumn(memory.Parts{Type: arrow.BinaryTypes.String, Len: 2, Buffers: []*memory.Buffer{nil, offsets, memory.Wrap(make([]byte, 5), nil)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := memory.ToArrow(col); !errors.Is(err, memory.ErrMismatch) || !strings.Contains(err.Error(), "utf8") {
		t.Error(err)
	}
	col.Release()
	if err := count.Check(); err != nil {
		t.Error(err)
	}
}
