package storage

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// runsOf writes values as random runs: repeated ones and packed groups.
func runsOf(r *rand.Rand, values []uint32, width uint) []byte {
	var b []byte
	for at := 0; at < len(values); {
		n := 1
		for at+n < len(values) && values[at+n] == values[at] {
			n++
		}
		if n > 1 && r.IntN(4) > 0 || len(values)-at < 8 && r.IntN(2) == 0 {
			b = binary.AppendUvarint(b, uint64(n)<<1)
			b = append(b, binary.LittleEndian.AppendUint32(nil, values[at])[:(width+7)/8]...)
			at += n
			continue
		}
		groups := 1 + r.IntN(3)
		b = binary.AppendUvarint(b, uint64(groups)<<1|1)
		packed := make([]byte, groups*int(width))
		for i, v := range values[at:min(at+8*groups, len(values))] {
			for k := range width {
				bit := uint(i)*width + k
				packed[bit/8] |= byte(v>>k&1) << (bit % 8)
			}
		}
		b = append(b, packed...)
		at += 8 * groups
	}
	return b
}

// withSlack is b with the capacity behind it that a page has.
func withSlack(b []byte) []byte { return append(make([]byte, 0, len(b)+slack), b...) }

func TestHybrid(t *testing.T) {
	const seed = 41
	r := rand.New(rand.NewPCG(seed, 1))
	for width := range uint(33) {
		for range 40 {
			values := make([]uint32, r.IntN(300))
			for i := range values {
				values[i] = r.Uint32() & uint32(1<<width-1)
				if i > 0 && r.IntN(3) > 0 {
					values[i] = values[i-1]
				}
			}
			b := runsOf(r, values, width)
			h, got := newHybrid(withSlack(b), width), make([]uint32, len(values))
			largest := uint32(0)
			for at := 0; at < len(got); {
				k := min(1+r.IntN(50), len(got)-at)
				m, err := h.read(got[at : at+k])
				if err != nil {
					t.Fatalf("width %d, seed %d: %v", width, seed, err)
				}
				largest, at = max(largest, m), at+k
			}
			if !slices.Equal(got, values) || len(values) > 0 && largest != slices.Max(values) {
				t.Fatalf("width %d, seed %d: got %v, largest %d; want %v", width, seed, got, largest, values)
			}
			if width == 1 {
				checkBits(t, r, b, values)
			}
			checkSome(t, r, b, values, width)
			if len(b) > 0 && width > 0 {
				cut := newHybrid(withSlack(b[:r.IntN(len(b))]), width)
				if _, err := cut.read(make([]uint32, len(values)+32)); err == nil {
					t.Errorf("width %d: runs cut short were read", width)
				}
			}
		}
	}
}

func checkBits(t *testing.T, r *rand.Rand, b []byte, values []uint32) {
	t.Helper()
	h := newHybrid(withSlack(b), 1)
	from := r.IntN(20)
	to := make(memory.Bitmap, memory.BitmapBytes(int64(from+len(values))))
	ones, at := int64(0), 0
	for at < len(values) {
		k := min(1+r.IntN(50), len(values)-at)
		n, err := h.bits(to, int64(from+at), int64(k))
		if err != nil {
			t.Fatal(err)
		}
		ones, at = ones+n, at+k
	}
	for i, v := range values {
		if to.Get(int64(from+i)) != (v == 1) {
			t.Fatalf("bit %d is not %d", i, v)
		}
		ones -= int64(v)
	}
	if ones != 0 {
		t.Errorf("%d ones too many", ones)
	}
}

// checkSome holds chosen values against those that were written, and what is read behind them; and
// looks for an error where runs end before.
func checkSome(t *testing.T, r *rand.Rand, b []byte, values []uint32, width uint) {
	t.Helper()
	h := newHybrid(withSlack(b), width)
	for at, every := 0, 1+r.IntN(20); at < len(values); {
		end, largest := min(at+1+r.IntN(90), len(values)), uint32(0)
		var sel []int32
		var want []uint32
		for i := at; i < end; i++ {
			if r.IntN(every) == 0 {
				sel, want, largest = append(sel, int32(i+7)), append(want, values[i]), max(largest, values[i])
			}
		}
		got := make([]uint32, len(sel))
		m, err := h.some(got, sel, int32(at+7))
		require.NoError(t, err)
		require.True(t, slices.Equal(want, got))
		require.Equal(t, largest, m)
		if len(sel) > 0 {
			at = int(sel[len(sel)-1]) - 7 + 1
		}
		if k := r.IntN(5); at+k <= len(values) { // what comes next
			next := make([]uint32, k)
			_, err := h.read(next)
			require.NoError(t, err)
			require.Equal(t, values[at:at+k], next)
			at += k
		}
	}
	cut := newHybrid(withSlack(b), width)
	_, err := cut.some(make([]uint32, 1), []int32{int32(len(values)) + 32}, 0)
	require.Error(t, err)
}

// TestChosenIndices: indices of chosen rows are the same however many are chosen, and one that is past the
// dictionary is an error where it is chosen.
func TestChosenIndices(t *testing.T) {
	r := rand.New(rand.NewPCG(43, 1))
	const rows, width = 9000, 13
	values := make([]uint32, rows)
	for i := range values {
		if values[i] = r.Uint32() & (1<<width - 1); i%700 > 350 && i > 0 {
			values[i] = values[i-1]
		}
	}
	b := runsOf(r, values, width)
	for _, every := range []int{1, 2, 5, 9, 30, 500, rows} {
		for _, first := range []int{0, 77, 5000} {
			page := pageValues{coded: true, runs: newHybrid(withSlack(b), width)}
			require.NoError(t, page.runs.skip(int64(first)))
			n := min(rows-first, 3500)
			var sel []int32
			var want, got []uint32
			for i := range n {
				if r.IntN(every) == 0 || every > 10 && i%2000 < 20 {
					sel, want = append(sel, int32(i+100)), append(want, values[first+i])
				}
			}
			require.NoError(t, page.chosen(int64(n), sel, 100, 1<<width, func(at int, codes []uint32) {
				require.Equal(t, len(got), at)
				got = append(got, codes...)
			}))
			require.Equal(t, want, got, "one of %d from row %d", every, first)
			if first+n < rows {
				next := make([]uint32, 1)
				_, err := page.read(next)
				require.NoError(t, err)
				require.Equal(t, values[first+n], next[0])
			}
			if len(want) > 0 {
				page = pageValues{coded: true, runs: newHybrid(withSlack(b), width)}
				require.NoError(t, page.runs.skip(int64(first)))
				err := page.chosen(int64(n), sel, 100, int(slices.Max(want)), func(int, []uint32) {})
				require.ErrorContains(t, err, "of a dictionary of")
			}
		}
	}
}

// TestDictionaryStaysInItsPage: numbers of eight bytes and texts of a dictionary are looked up in the page
// that they came in, where that is theirs to keep, and in a copy where it is not.
func TestDictionaryStaysInItsPage(t *testing.T) {
	const n = 300
	numbers, texts := []byte(nil), []byte(nil)
	for i := range n {
		numbers = binary.LittleEndian.AppendUint64(numbers, uint64(i)<<33)
		texts = binary.LittleEndian.AppendUint32(texts, 5)
		texts = fmt.Appendf(texts, "%05d", i)
	}
	for name, c := range map[string]struct {
		page   []byte
		values func(from memory.Allocator) flatValues
		check  func(v flatValues, i int) bool
	}{
		"numbers": {numbers, func(from memory.Allocator) flatValues { return newFixed[uint64](from, 8, 8) }, func(v flatValues, i int) bool {
			return v.(*fixedValues[uint64]).dict[i] == uint64(i)<<33
		}},
		"decimals": {numbers, func(from memory.Allocator) flatValues { return &wideValues{from: from, width: 8} }, func(v flatValues, i int) bool {
			return v.(*wideValues).dict[i] == int64(i)<<33
		}},
		"texts": {texts, func(from memory.Allocator) flatValues {
			return &textValues[int32]{from: from, wide: 4, most: 1 << 20, texts: true}
		}, func(v flatValues, i int) bool {
			x := v.(*textValues[int32])
			return string(x.dict[x.ends[i].from:][:x.ends[i].length]) == fmt.Sprintf("%05d", i)
		}},
	} {
		counted := memory.NewCounted(memory.Heap)
		var page *memory.Buffer
		for _, kept := range []bool{true, false} {
			b, err := roomIn(&page, counted, int64(len(c.page)))
			require.NoError(t, err)
			copy(b, c.page)
			before, of := counted.Stats().Allocations, &page
			if !kept {
				of = new(*memory.Buffer)
			}
			v := c.values(counted)
			require.NoError(t, v.dictionary(b, n, of), name)
			require.Equal(t, kept, page == nil, name)
			require.Equal(t, kept, counted.Stats().Allocations == before, name)
			if !kept {
				clear(b)
			}
			require.Equal(t, n, v.size())
			for i := range n {
				require.True(t, c.check(v, i), "%s: value %d", name, i)
			}
			require.Error(t, c.values(counted).dictionary(make([]byte, 3*n, 3*n+slack), n, new(*memory.Buffer)), name)
			v.close()
		}
		page.Release()
		require.NoError(t, counted.Check())
	}
}

// fileOf writes columns as arrow-go does and opens the file.
func fileOf(t *testing.T, names []string, columns ...arrow.Array) *parquetFile {
	t.Helper()
	var fields []arrow.Field
	for i, c := range columns {
		fields = append(fields, arrow.Field{Name: names[i], Type: c.DataType(), Nullable: true})
	}
	rec := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(columns[0].Len()))
	defer rec.Release()
	for _, c := range columns {
		c.Release()
	}
	path := filepath.Join(t.TempDir(), "a.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pqarrow.NewFileWriter(rec.Schema(), f, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err == nil {
		err = w.Write(rec)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := openParquet(path, ParquetReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

func build[B array.Builder](b B, add func(B)) arrow.Array {
	defer b.Release()
	add(b)
	return b.NewArray()
}

// TestLongTexts has more bytes of texts in a batch than it may have: it comes
// in smaller ones, and no row twice, whether arrow-go reads columns beside or
// not.
func TestLongTexts(t *testing.T) {
	const rows = 2000
	word := func(i int) string { return fmt.Sprintf("%d %s", i%50, strings.Repeat("x", i/40)) }
	list := build(array.NewListBuilder(arrowmem.DefaultAllocator, arrow.PrimitiveTypes.Int64), func(b *array.ListBuilder) {
		for i := range rows {
			b.Append(true)
			b.ValueBuilder().(*array.Int64Builder).Append(int64(i))
		}
	})
	f := fileOf(t, []string{"n", "s", "l"},
		build(array.NewInt64Builder(arrowmem.DefaultAllocator), func(b *array.Int64Builder) {
			for i := range rows {
				b.Append(int64(i))
			}
		}),
		build(array.NewStringBuilder(arrowmem.DefaultAllocator), func(b *array.StringBuilder) {
			for i := range rows {
				b.Append(word(i))
			}
		}), list)
	counted := memory.NewCounted(memory.Heap)
	for _, fields := range [][]int{{0, 1}, {0, 1, 2}} {
		var want []arrow.Field
		for _, i := range fields {
			want = append(want, f.schema.Field(i))
		}
		row := 0
		r := groupReader{file: f, from: counted, want: arrow.NewSchema(want, nil), fields: fields, most: 5000, emit: func(b *table.Batch) error {
			defer b.Release()
			offsets := memory.Offsets[int32](b.Column(1))
			for i := range b.Len() {
				n, s := memory.Values[int64](b.Column(0))[i], string(b.Column(1).Buffer(2).Bytes()[offsets[i]:offsets[i+1]])
				if n != int64(row) || s != word(row) {
					return fmt.Errorf("row %d: %d %q", row, n, s)
				}
				row++
			}
			return nil
		}}
		if err := r.read(context.Background(), 1000); err == nil {
			t.Fatal("5000 bytes held 1000 texts of 12 bytes")
		}
		if err := r.read(context.Background(), 150); err == nil || row < 300 || row > 1400 {
			t.Fatalf("%v after %d rows; 5000 bytes hold 150 texts of 3 bytes, and not of 50", err, row)
		}
		if err := r.read(context.Background(), 70); err != nil {
			t.Fatal(err)
		}
		if row != rows {
			t.Errorf("%d rows", row)
		}
	}
	if err := counted.Check(); err != nil {
		t.Error(err)
	}
}

// TestFlat tells which columns are decoded here.
func TestFlat(t *testing.T) {
	f := fileOf(t, []string{"n", "s", "b", "l", "d"},
		build(array.NewUint8Builder(arrowmem.DefaultAllocator), func(b *array.Uint8Builder) { b.AppendNull() }),
		build(array.NewLargeStringBuilder(arrowmem.DefaultAllocator), func(b *array.LargeStringBuilder) { b.Append("x") }),
		build(array.NewBooleanBuilder(arrowmem.DefaultAllocator), func(b *array.BooleanBuilder) { b.Append(true) }),
		build(array.NewListBuilder(arrowmem.DefaultAllocator, arrow.PrimitiveTypes.Int32), func(b *array.ListBuilder) { b.AppendNull() }),
		build(array.NewDecimal128Builder(arrowmem.DefaultAllocator, &arrow.Decimal128Type{Precision: 20, Scale: 2}), func(b *array.Decimal128Builder) { b.AppendNull() }))
	r := groupReader{file: f, from: memory.Heap, want: f.schema, fields: []int{0, 1, 2, 3, 4}, most: 1 << 20}
	leaves, _, _, err := r.open(context.Background())
	defer r.close()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range r.flat {
		if (c != nil) != (i != 3) {
			t.Errorf("column %d: %v", i, c)
		}
	}
	if !slices.Equal(leaves, []int{3}) {
		t.Errorf("arrow-go reads %v", leaves)
	}
}

// TestDictionaryIndex flips every bit in front of a file whose columns refer to
// dictionaries: some then refer to values that are not there.
func TestDictionaryIndex(t *testing.T) {
	for name, column := range map[string]func() arrow.Array{
		"n": func() arrow.Array {
			return build(array.NewInt64Builder(arrowmem.DefaultAllocator), func(b *array.Int64Builder) {
				for i := range 80 {
					b.Append(int64(i % 7 % 5))
				}
			})
		},
		"s": func() arrow.Array {
			return build(array.NewStringBuilder(arrowmem.DefaultAllocator), func(b *array.StringBuilder) {
				for i := range 80 {
					b.Append(strings.Repeat("x", i%7%5))
				}
			})
		}} {
		f := fileOf(t, []string{name}, column())
		whole, err := os.ReadFile(f.path)
		if err != nil {
			t.Fatal(err)
		}
		path, named := filepath.Join(t.TempDir(), "flipped.parquet"), 0
		for bit := range 8 * min(200, len(whole)) {
			damaged := append([]byte(nil), whole...)
			damaged[bit/8] ^= 1 << (bit % 8)
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := openParquet(path, ParquetReadOptions{})
			if err != nil {
				continue
			}
			r := groupReader{file: p, from: memory.Heap, want: p.schema, fields: []int{0}, most: 1 << 20, emit: func(b *table.Batch) error {
				b.Release()
				return nil
			}}
			err = r.read(context.Background(), 32)
			p.close()
			if err == nil || !strings.Contains(err.Error(), "of a dictionary of 5") {
				continue
			}
			named++
			for _, want := range []string{path, "row group 0", fmt.Sprintf("column %q", name), "page at offset", ErrFormat.Error()} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error does not say %q: %v", want, err)
				}
			}
		}
		if named == 0 {
			t.Errorf("%s: no flip made an index that is too large", name)
		}
	}
}
