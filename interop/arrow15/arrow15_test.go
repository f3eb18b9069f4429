package arrow15

import (
	"errors"
	"strings"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	newmem "github.com/apache/arrow-go/v18/arrow/memory"
	old "github.com/apache/arrow/go/v15/arrow"
	oldarray "github.com/apache/arrow/go/v15/arrow/array"
	oldmem "github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/volley-go/volley/memory"
)

// cases are arrays of every type that is taken, as JSON: the same text makes
// them in either library.
func cases() map[string]struct {
	t    old.DataType
	json string
} {
	type c = struct {
		t    old.DataType
		json string
	}
	p, f, b := old.PrimitiveTypes, old.FixedWidthTypes, old.BinaryTypes
	note := old.NewMetadata([]string{"unit", "source"}, []string{"m", "radar"})
	pair := old.StructOf(old.Field{Name: "x", Type: p.Int32, Nullable: true, Metadata: note}, old.Field{Name: "s", Type: b.String, Nullable: true})
	m := old.MapOf(b.String, p.Int32)
	m.KeysSorted = true
	strict := old.MapOf(b.String, p.Int32)
	strict.SetItemNullable(false)
	return map[string]c{
		"null": {old.Null, `[null, null, null]`}, "bool": {f.Boolean, `[true, null, false]`},
		"int8": {p.Int8, `[1, null, -3]`}, "int16": {p.Int16, `[1, null, -3]`}, "int32": {p.Int32, `[1, null, -3]`}, "int64": {p.Int64, `[1, null, -3]`},
		"uint8": {p.Uint8, `[1, null, 3]`}, "uint16": {p.Uint16, `[1, null, 3]`}, "uint32": {p.Uint32, `[1, null, 3]`}, "uint64": {p.Uint64, `[1, null, 3]`},
		"float16": {f.Float16, `[1.5, null, -3]`}, "float32": {p.Float32, `[1.5, null, -3]`}, "float64": {p.Float64, `[1.5, null, -3]`},
		"decimal128": {&old.Decimal128Type{Precision: 20, Scale: 2}, `["1.25", null, "-3.50"]`},
		"decimal256": {&old.Decimal256Type{Precision: 50, Scale: 3}, `["1.250", null, "-3.500"]`},
		"date32":     {f.Date32, `["2024-02-29", null, "1969-12-31"]`}, "date64": {f.Date64, `["2024-02-29", null, "1969-12-31"]`},
		"time32": {f.Time32ms, `["12:34:56.789", null, "00:00:00"]`}, "time64": {f.Time64ns, `["12:34:56.789", null, "00:00:00"]`},
		"timestamp": {&old.TimestampType{Unit: old.Microsecond, TimeZone: "Europe/Berlin"}, `["2024-02-29 12:00:00Z", null, "1969-12-31 23:59:59Z"]`},
		"naive":     {&old.TimestampType{Unit: old.Second}, `["2024-02-29 12:00:00", null, "1969-12-31 23:59:59"]`},
		"duration":  {f.Duration_ms, `["5ms", null, "7ms"]`},
		"months":    {f.MonthInterval, `[{"months": 3}, null, {"months": -1}]`},
		"daytime":   {f.DayTimeInterval, `[{"days": 3, "milliseconds": 5}, null, {"days": -1, "milliseconds": 0}]`},
		"mdn":       {f.MonthDayNanoInterval, `[{"months": 1, "days": 3, "nanoseconds": 5}, null, {"months": 0, "days": -1, "nanoseconds": 0}]`},
		"utf8":      {b.String, `["volley", null, ""]`}, "large_utf8": {b.LargeString, `["volley", null, ""]`},
		"binary": {b.Binary, `["AAEC", null, ""]`}, "large_binary": {b.LargeBinary, `["AAEC", null, ""]`},
		"fixed_binary": {&old.FixedSizeBinaryType{ByteWidth: 3}, `["AAEC", null, "AQEB"]`},
		"list":         {old.ListOf(p.Int64), `[[1, null], null, []]`}, "large_list": {old.LargeListOf(b.String), `[["a", null], null, []]`},
		"fixed_list":  {old.FixedSizeListOf(2, p.Int16), `[[1, null], null, [3, 4]]`},
		"list_field":  {old.ListOfField(old.Field{Name: "piece", Type: p.Int64, Metadata: note}), `[[1, 2], null, []]`},
		"struct":      {pair, `[{"x": 1, "s": "a"}, null, {"x": null, "s": null}]`},
		"map":         {m, `[[{"key": "a", "value": 1}], null, []]`},
		"strict_map":  {strict, `[[{"key": "a", "value": 1}], null, []]`},
		"dictionary":  {&old.DictionaryType{IndexType: p.Uint8, ValueType: b.String, Ordered: true}, `["a", null, "b", "a"]`},
		"list_struct": {old.ListOf(pair), `[[{"x": 1, "s": "a"}, null], null, []]`},
	}
}

// same compares two trees of data buffer for buffer, by address.
func same(t *testing.T, a old.ArrayData, b arrow.ArrayData) {
	t.Helper()
	if a.Len() != b.Len() || a.Offset() != b.Offset() || a.NullN() != b.NullN() || len(a.Buffers()) != len(b.Buffers()) || len(a.Children()) != len(b.Children()) {
		t.Fatalf("%s: %d values from %d, %d nulls; %d from %d, %d", a.DataType(), a.Len(), a.Offset(), a.NullN(), b.Len(), b.Offset(), b.NullN())
	}
	for i, x := range a.Buffers() {
		y := b.Buffers()[i]
		if (x == nil) != (y == nil) {
			t.Fatalf("%s: buffer %d is missing on one side", a.DataType(), i)
		}
		if x != nil && (x.Len() != y.Len() || unsafe.SliceData(x.Bytes()) != unsafe.SliceData(y.Bytes())) {
			t.Fatalf("%s: buffer %d was copied", a.DataType(), i)
		}
	}
	for i := range a.Children() {
		same(t, a.Children()[i], b.Children()[i])
	}
	if a.DataType().ID() == old.DICTIONARY {
		same(t, a.Dictionary(), b.Dictionary())
	}
}

func TestArraysCrossWithoutACopy(t *testing.T) {
	for name, c := range cases() {
		t.Run(name, func(t *testing.T) {
			mem := oldmem.NewCheckedAllocator(oldmem.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			whole, _, err := oldarray.FromJSON(mem, c.t, strings.NewReader(c.json))
			if err != nil {
				t.Fatal(err)
			}
			typ, err := FromType(c.t)
			if err != nil {
				t.Fatal(err)
			}
			expected, _, err := array.FromJSON(newmem.DefaultAllocator, typ, strings.NewReader(c.json)) // made by v18 alone
			if err != nil {
				t.Fatal(err)
			}
			defer expected.Release()
			for _, window := range [][2]int64{{0, int64(whole.Len())}, {1, 3}, {2, 2}} {
				a := oldarray.NewSlice(whole, window[0], window[1])
				b, err := FromArray(a)
				if err != nil {
					t.Fatal(err)
				}
				same(t, a.Data(), b.Data())
				want := array.NewSlice(expected, window[0], window[1])
				if !array.Equal(want, b) {
					t.Fatalf("%v became %v", a, b)
				}
				want.Release()
				back, err := ToArray(b)
				if err != nil {
					t.Fatal(err)
				}
				same(t, back.Data(), b.Data())
				if !oldarray.Equal(a, back) || !old.TypeEqual(c.t, back.DataType(), old.CheckMetadata()) {
					t.Fatalf("%v became %v", a, back)
				}
				text := a.String()
				a.Release() // the others keep the bytes alive, whatever the order
				b.Release()
				if back.String() != text {
					t.Fatalf("%v changed to %v", text, back)
				}
				back.Release()
			}
			whole.Release()
		})
	}
}

// TestArraysOfV18GoBackToV18 is the other way round, with v18's allocator
// keeping count.
func TestArraysOfV18GoBackToV18(t *testing.T) {
	for name, c := range cases() {
		t.Run(name, func(t *testing.T) {
			mem := newmem.NewCheckedAllocator(newmem.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			typ, err := FromType(c.t)
			if err != nil {
				t.Fatal(err)
			}
			a, _, err := array.FromJSON(mem, typ, strings.NewReader(c.json))
			if err != nil {
				t.Fatal(err)
			}
			b, err := ToArray(a)
			if err != nil {
				t.Fatal(err)
			}
			same(t, b.Data(), a.Data())
			back, err := FromArray(b)
			if err != nil {
				t.Fatal(err)
			}
			b.Release()
			same15 := arrow.TypeEqual(typ, back.DataType(), arrow.CheckMetadata())
			if !array.Equal(a, back) || !same15 {
				t.Fatalf("%v became %v", a, back)
			}
			a.Release()
			back.Release()
		})
	}
}

func TestRecordsAndSchemas(t *testing.T) {
	mem := oldmem.NewCheckedAllocator(oldmem.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	about := old.NewMetadata([]string{"pandas", "k"}, []string{"{}", "v"})
	schema := old.NewSchema([]old.Field{
		{Name: "origin", Type: &old.DictionaryType{IndexType: old.PrimitiveTypes.Int32, ValueType: old.BinaryTypes.String}, Nullable: true},
		{Name: "delay", Type: old.PrimitiveTypes.Int64, Metadata: old.NewMetadata([]string{"unit"}, []string{"min"})},
		{Name: "delay", Type: old.ListOf(old.PrimitiveTypes.Float64), Nullable: true}, // a name may stand twice
	}, &about)
	build := func(i int, json string) old.Array {
		a, _, err := oldarray.FromJSON(mem, schema.Field(i).Type, strings.NewReader(json))
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	columns := []old.Array{build(0, `["a", null]`), build(1, `[1, 2]`), build(2, `[[1.5], null]`)}
	a := oldarray.NewRecord(schema, columns, 2)
	for _, c := range columns {
		c.Release()
	}
	b, err := FromRecord(a)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ToRecord(b)
	if err != nil {
		t.Fatal(err)
	}
	for i := range columns {
		same(t, a.Column(i).Data(), b.Column(i).Data())
		same(t, back.Column(i).Data(), b.Column(i).Data())
	}
	if !back.Schema().Equal(schema) || !back.Schema().Metadata().Equal(about) || !oldarray.RecordEqual(a, back) || b.NumRows() != 2 {
		t.Fatalf("%v became %v", a, back)
	}
	if v, ok := b.Schema().Field(1).Metadata.GetValue("unit"); !ok || v != "min" || b.Schema().Field(1).Nullable || !b.Schema().Field(0).Nullable {
		t.Fatalf("%v", b.Schema())
	}
	a.Release()
	b.Release()
	back.Release()

	foreign := schema.WithEndianness(1 - schema.Endianness())
	s, err := FromSchema(foreign)
	if err != nil || s.IsNativeEndian() {
		t.Fatalf("%v: %v", s, err)
	}
	if again, err := ToSchema(s); err != nil || !again.Equal(foreign) || again.IsNativeEndian() {
		t.Fatalf("%v: %v", again, err)
	}
	none := oldarray.NewRecord(old.NewSchema(nil, nil), nil, 7) // rows without columns
	c, err := FromRecord(none)
	if err != nil || c.NumRows() != 7 || c.NumCols() != 0 {
		t.Fatalf("%v: %v", c, err)
	}
	c.Release()
	none.Release()
}

func TestUnsupportedTypesAreNamed(t *testing.T) {
	view := old.BinaryTypes.StringView
	fields := []old.Field{{Name: "good", Type: old.PrimitiveTypes.Int8}, {Name: "bad", Type: old.ListOf(view)}}
	nested := old.StructOf(fields...)
	if _, err := FromType(nested); !errors.Is(err, memory.ErrUnsupported) || !strings.Contains(err.Error(), `field "bad": field "item": `) ||
		!strings.Contains(err.Error(), view.String()) {
		t.Error(err)
	}
	if _, err := FromSchema(old.NewSchema(fields, nil)); !errors.Is(err, memory.ErrUnsupported) {
		t.Error(err)
	}
	union := arrow.SparseUnionOf([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int8}}, []arrow.UnionTypeCode{0})
	for _, typ := range []arrow.DataType{
		union, arrow.RunEndEncodedOf(arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String), arrow.BinaryTypes.BinaryView,
		&arrow.Decimal32Type{Precision: 3}, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: union},
		arrow.MapOf(arrow.BinaryTypes.String, union),
	} {
		if _, err := ToType(typ); !errors.Is(err, memory.ErrUnsupported) {
			t.Errorf("%s: %v", typ, err)
		}
	}
	bld := array.NewBuilder(newmem.DefaultAllocator, arrow.BinaryTypes.StringView)
	defer bld.Release()
	a := bld.NewArray()
	defer a.Release()
	if _, err := ToArray(a); !errors.Is(err, memory.ErrUnsupported) || !strings.Contains(err.Error(), "string_view") {
		t.Error(err)
	}
	r := array.NewRecordBatchWithMetadata(arrow.NewSchema(nil, nil), nil, 3, arrow.NewMetadata([]string{"a"}, []string{"b"}))
	defer r.Release()
	if _, err := ToRecord(r); !errors.Is(err, memory.ErrUnsupported) {
		t.Error(err)
	}
}

// TestFailuresReleaseEverything converts a record whose last column is of a
// type that is not taken, and data that contradicts itself.
func TestFailuresReleaseEverything(t *testing.T) {
	mem := newmem.NewCheckedAllocator(newmem.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	good, _, err := array.FromJSON(mem, arrow.PrimitiveTypes.Int64, strings.NewReader(`[1, 2]`))
	if err != nil {
		t.Fatal(err)
	}
	bld := array.NewBuilder(mem, arrow.BinaryTypes.StringView)
	bld.AppendNull()
	bld.AppendNull()
	bad := bld.NewArray()
	bld.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "good", Type: good.DataType()}, {Name: "bad", Type: bad.DataType(), Nullable: true}}, nil)
	r := array.NewRecordBatch(schema, []arrow.Array{good, bad}, 2)
	if _, err := ToRecord(r); !errors.Is(err, memory.ErrUnsupported) || !strings.Contains(err.Error(), `"bad"`) {
		t.Error(err)
	}
	r.Release()
	bad.Release()
	if _, err := ToArray(torn{good}); !errors.Is(err, memory.ErrMismatch) {
		t.Error(err)
	}
	good.Release()
	for _, err := range []error{
		second(FromArray(nil)), second(ToArray(nil)), second(FromRecord(nil)), second(ToRecord(nil)),
		second(FromSchema(nil)), second(ToSchema(nil)), second(FromType(nil)), second(ToType(nil)),
	} {
		if !errors.Is(err, memory.ErrMismatch) {
			t.Error(err)
		}
	}
}

// torn says that its integers are strings.
type torn struct{ arrow.Array }

func (t torn) DataType() arrow.DataType { return arrow.BinaryTypes.String }

func second[T any](_ T, err error) error { return err }
