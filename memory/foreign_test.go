package memory_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/volley-go/volley/memory"
)

const long = "a text of more than twelve bytes"

// TestFromArrowOfOthersTypes has the values of views and of lists of a fixed
// size, whole and in windows, held as Held says.
func TestFromArrowOfOthersTypes(t *testing.T) {
	b, p := arrow.BinaryTypes, arrow.PrimitiveTypes
	words := func(of arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: p.Uint8, ValueType: of}
	}
	for name, c := range map[string]struct {
		t, held arrow.DataType
		json    string
	}{
		"string_view": {b.StringView, b.LargeString, `["a", null, "", "` + long + `", "twelve bytes", "thirteen byte"]`},
		"binary_view": {b.BinaryView, b.LargeBinary, `["AAEC", null, "", "AAECAwQFBgcICQoLDA0ODw=="]`},
		"no_nulls":    {b.StringView, b.LargeString, `["` + long + `", "b", "` + long + `"]`},
		"only_nulls":  {b.StringView, b.LargeString, `[null, null]`},
		"no_rows":     {b.StringView, b.LargeString, `[]`},
		"list":        {arrow.ListOf(b.StringView), arrow.ListOf(b.LargeString), `[["a", null], null, [], ["` + long + `"]]`},
		"struct": {arrow.StructOf(arrow.Field{Name: "s", Type: b.StringView, Nullable: true}), arrow.StructOf(arrow.Field{Name: "s", Type: b.LargeString, Nullable: true}),
			`[{"s": "a"}, null, {"s": null}, {"s": "` + long + `"}]`},
		"fixed":       {arrow.FixedSizeListOf(2, p.Int32), arrow.LargeListOf(p.Int32), `[[1, 2], null, [null, 4], [5, 6]]`},
		"fixed_empty": {arrow.FixedSizeListOf(3, p.Int32), arrow.LargeListOf(p.Int32), `[]`},
		"bytes":       {&arrow.FixedSizeBinaryType{ByteWidth: 3}, b.LargeBinary, `["AAEC", null, "AwQF"]`},
		"fixed_bytes": {arrow.FixedSizeListOf(2, &arrow.FixedSizeBinaryType{ByteWidth: 1}), arrow.LargeListOf(b.LargeBinary), `[["AA==", "AQ=="], null]`},
		"fixed_views": {arrow.FixedSizeListOf(1, b.StringView), arrow.LargeListOf(b.LargeString), `[["a"], ["` + long + `"], null]`},
		"fixed_fixed": {arrow.FixedSizeListOf(2, arrow.FixedSizeListOf(1, p.Int8)), arrow.LargeListOf(arrow.LargeListOf(p.Int8)), `[[[1], [2]], null, [null, [4]]]`},
	} {
		t.Run(name, func(t *testing.T) {
			mem := arrowmem.NewCheckedAllocator(arrowmem.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			before := memory.OverReleases()
			whole, _, err := array.FromJSON(mem, c.t, strings.NewReader(c.json))
			if err != nil {
				t.Fatal(err)
			}
			defer whole.Release()
			want, _, err := array.FromJSON(mem, c.held, strings.NewReader(c.json))
			if err != nil {
				t.Fatal(err)
			}
			defer want.Release()
			n := int64(whole.Len())
			for _, w := range [][2]int64{{0, n}, {min(1, n), n}, {min(1, n), min(2, n)}, {n, n}} {
				a, w := array.NewSlice(whole, w[0], w[1]), array.NewSlice(want, w[0], w[1])
				col, err := memory.FromArrow(a)
				if err != nil {
					t.Fatal(err)
				}
				if err := col.Validate(); err != nil {
					t.Fatal(err)
				}
				got, err := memory.ToArrow(col)
				if err != nil {
					t.Fatal(err)
				}
				if !array.Equal(got, w) || got.NullN() != w.NullN() {
					t.Errorf("%v became %v, not %v", a, got, w)
				}
				got.Release()
				col.Release()
				a.Release()
				w.Release()
			}
			if n := memory.OverReleases() - before; n != 0 {
				t.Fatalf("%d releases too many", n)
			}
		})
	}
	if got, err := memory.Held(words(b.StringView)); err != nil || !arrow.TypeEqual(got, words(b.LargeString)) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []arrow.DataType{arrow.FixedWidthTypes.MonthInterval, arrow.ListOf(arrow.FixedWidthTypes.MonthInterval), arrow.RunEndEncodedOf(p.Int32, p.Int32)} {
		if _, err := memory.Held(bad); !errors.Is(err, memory.ErrUnsupported) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestCopyViewsOfWrongNumbers holds views against the bytes that are there.
func TestCopyViewsOfWrongNumbers(t *testing.T) {
	view := func(size, buffer, at int32) []byte {
		v := binary.NativeEndian.AppendUint32(nil, uint32(size))
		v = append(v, "text"...)
		v = binary.NativeEndian.AppendUint32(v, uint32(buffer))
		return binary.NativeEndian.AppendUint32(v, uint32(at))
	}
	fine := view(4, 0, 0)
	for name, c := range map[string]struct {
		views []byte
		n     int
		rest  []*arrowmem.Buffer
		says  string
	}{
		"negative length":   {append(fine, view(-1, 0, 0)...), 2, nil, "row 1"},
		"no buffer":         {view(13, 0, 0), 1, nil, "row 0"},
		"another buffer":    {view(13, 1, 0), 1, []*arrowmem.Buffer{arrowmem.NewBufferBytes([]byte(long))}, "row 0"},
		"negative buffer":   {view(13, -1, 0), 1, []*arrowmem.Buffer{arrowmem.NewBufferBytes([]byte(long))}, "row 0"},
		"negative place":    {view(13, 0, -1), 1, []*arrowmem.Buffer{arrowmem.NewBufferBytes([]byte(long))}, "row 0"},
		"beyond the end":    {view(13, 0, int32(len(long)-12)), 1, []*arrowmem.Buffer{arrowmem.NewBufferBytes([]byte(long))}, "row 0"},
		"a buffer left out": {view(13, 0, 0), 1, []*arrowmem.Buffer{nil}, "row 0"},
		"too few views":     {fine, 2, nil, "16 bytes of views for 2 rows"},
	} {
		d := array.NewData(arrow.BinaryTypes.StringView, c.n, append([]*arrowmem.Buffer{nil, arrowmem.NewBufferBytes(c.views)}, c.rest...), nil, 0, 0)
		counted := memory.NewCounted(memory.Heap)
		if _, err := memory.CopyViews(counted, d); !errors.Is(err, memory.ErrMismatch) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if err := counted.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		d.Release()
	}
}

func TestEvenOffsets(t *testing.T) {
	b, err := memory.EvenOffsets(memory.Heap, 3, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	if got := memory.View[int64](b); len(got) != 4 || got[0] != 0 || got[1] != 4 || got[3] != 12 {
		t.Errorf("%v", got)
	}
	for _, bad := range [][2]int64{{-1, 1}, {1, -1}, {1 << 62, 1}, {1 << 59, 1 << 10}} {
		if _, err := memory.EvenOffsets(memory.Heap, bad[0], int32(bad[1])); !errors.Is(err, memory.ErrMismatch) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
