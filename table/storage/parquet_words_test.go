package storage

import (
	"context"
	"errors"
	"fmt"
	"math"
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
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// wordsFile writes columns with so many different values each.
func wordsFile(t *testing.T, rows int, distinct []int, nullable bool, o ...parquet.WriterProperty) (*parquetFile, [][]int32) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, uint64(rows)))
	var fields []arrow.Field
	var columns []arrow.Array
	var values [][]int32
	for k, n := range distinct {
		v := make([]int32, rows)
		for i := range v {
			if v[i] = int32(r.IntN(n)) * 1001; i > 0 && r.IntN(9) < k {
				v[i] = v[i-1]
			}
		}
		values = append(values, v)
		fields = append(fields, arrow.Field{Name: fmt.Sprint("c", k), Type: arrow.PrimitiveTypes.Int32, Nullable: nullable})
		columns = append(columns, build(array.NewInt32Builder(arrowmem.DefaultAllocator), func(b *array.Int32Builder) { b.AppendValues(v, nil) }))
	}
	rec := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(rows))
	path := filepath.Join(t.TempDir(), "w.parquet")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pqarrow.NewFileWriter(rec.Schema(), f, parquet.NewWriterProperties(o...), pqarrow.DefaultWriterProps())
	if err == nil {
		err = w.Write(rec)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	p, err := openParquet(path, ParquetReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p, values
}

// wordsOf reads all rows at once, and then once more in pieces that begin anywhere.
func wordsOf(t *testing.T, p *parquetFile, from memory.Allocator, as ...arrow.DataType) (to []uint32, ok bool, err error) {
	t.Helper()
	var fields []int
	for k := range p.schema.NumFields() {
		fields = append(fields, k)
	}
	if as == nil {
		for _, f := range p.schema.Fields() {
			as = append(as, f.Type)
		}
	}
	r := groupReader{file: p, from: from, want: p.schema, fields: fields, most: 1 << 20}
	g, err := r.words(context.Background(), as)
	if g == nil || err != nil {
		return nil, false, err
	}
	defer g.Close()
	rows, columns := g.Rows(), int64(len(fields))
	read := func(to []uint32, first, n int64) error {
		var into []Words
		for k := range columns {
			into = append(into, Words{to[k:], columns})
		}
		return g.Read(first, n, into)
	}
	to = make([]uint32, columns*rows)
	if err := read(to, 0, rows); err != nil {
		return nil, false, err
	}
	again, random := make([]uint32, columns*rows), rand.New(rand.NewPCG(5, uint64(rows)))
	for at := int64(0); at < rows; {
		n := min(rows-at, 1+random.Int64N(5000))
		if err := read(again[at*columns:], at, n); err != nil {
			return nil, false, err
		}
		at += n
	}
	if !slices.Equal(to, again) {
		t.Error("rows by pieces are others")
	}
	if err := read(make([]uint32, columns*2), rows-1, 2); !errors.Is(err, device.ErrMismatch) {
		t.Errorf("rows beyond the last: %v", err)
	}
	return to, true, nil
}

// TestWords reads numbers straight to their rows: of pages of both versions,
// dictionaries of every width and none, of several pages, compressed and not.
func TestWords(t *testing.T) {
	distinct := []int{1, 2, 7, 300, 1009, 70_000}
	for _, rows := range []int{1, 255, 257, 60_000} {
		for _, o := range [][]parquet.WriterProperty{
			{},
			{parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDataPageSize(5000)},
			{parquet.WithDictionaryDefault(false), parquet.WithCompression(compress.Codecs.Snappy)},
			{parquet.WithDictionaryPageSizeLimit(3000)},
		} {
			for _, nullable := range []bool{false, true} {
				p, values := wordsFile(t, rows, distinct, nullable, o...)
				counted := memory.NewCounted(memory.Heap)
				to, ok, err := wordsOf(t, p, counted)
				if !ok || err != nil {
					t.Fatalf("%d rows: %v, %v", rows, ok, err)
				}
				for k, v := range values {
					for i, x := range v {
						if got := to[i*len(distinct)+k]; got != uint32(x) {
							t.Fatalf("%d rows, column %d, row %d: %d, not %d", rows, k, i, got, x)
						}
					}
				}
				if err := counted.Check(); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestNoWords: nulls, other widths and texts are left to columns.
func TestNoWords(t *testing.T) {
	for name, column := range map[string]arrow.Array{
		"null": build(array.NewFloat32Builder(arrowmem.DefaultAllocator), func(b *array.Float32Builder) { b.Append(1); b.AppendNull(); b.Append(2) }),
		"wide": build(array.NewFloat64Builder(arrowmem.DefaultAllocator), func(b *array.Float64Builder) { b.Append(1) }),
		"text": build(array.NewStringBuilder(arrowmem.DefaultAllocator), func(b *array.StringBuilder) { b.Append("x") }),
	} {
		p := fileOf(t, []string{name}, column)
		if _, ok, err := wordsOf(t, p, memory.Heap); ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}

// TestWordsOfNumbers: every number becomes float32, by its dictionary or not.
func TestWordsOfNumbers(t *testing.T) {
	alloc := arrowmem.DefaultAllocator
	stamp := &arrow.TimestampType{Unit: arrow.Microsecond}
	columns := []arrow.Array{
		build(array.NewInt8Builder(alloc), func(b *array.Int8Builder) { b.AppendValues([]int8{-128, 127, -1}, nil) }),
		build(array.NewUint8Builder(alloc), func(b *array.Uint8Builder) { b.AppendValues([]uint8{255, 0, 7}, nil) }),
		build(array.NewInt16Builder(alloc), func(b *array.Int16Builder) { b.AppendValues([]int16{-32768, 5, 9}, nil) }),
		build(array.NewUint16Builder(alloc), func(b *array.Uint16Builder) { b.AppendValues([]uint16{65535, 5, 9}, nil) }),
		build(array.NewInt32Builder(alloc), func(b *array.Int32Builder) { b.AppendValues([]int32{-16777217, 5, 9}, nil) }),
		build(array.NewUint32Builder(alloc), func(b *array.Uint32Builder) { b.AppendValues([]uint32{4294967295, 5, 9}, nil) }),
		build(array.NewInt64Builder(alloc), func(b *array.Int64Builder) { b.AppendValues([]int64{-9007199791611905, 5, 9}, nil) }),
		build(array.NewUint64Builder(alloc), func(b *array.Uint64Builder) { b.AppendValues([]uint64{1<<64 - 1, 5, 9}, nil) }),
		build(array.NewFloat64Builder(alloc), func(b *array.Float64Builder) { b.AppendValues([]float64{0.1, 1e300, math.Copysign(0, -1)}, nil) }),
		build(array.NewBooleanBuilder(alloc), func(b *array.BooleanBuilder) { b.AppendValues([]bool{true, false, true}, nil) }),
		build(array.NewTimestampBuilder(alloc, stamp), func(b *array.TimestampBuilder) { b.AppendValues([]arrow.Timestamp{-5, 978307200000001, 0}, nil) }),
		build(array.NewDate32Builder(alloc), func(b *array.Date32Builder) { b.AppendValues([]arrow.Date32{-5, 11323, 0}, nil) }),
	}
	want := [][3]float32{
		{-128, 127, -1}, {255, 0, 7}, {-32768, 5, 9}, {65535, 5, 9}, {-16777216, 5, 9}, {4294967296, 5, 9}, {-9007200328482816, 5, 9}, {1 << 64, 5, 9},
		{0.1, float32(math.Inf(1)), 0}, {1, 0, 1}, {-5, 978307200000001, 0}, {-5, 11323, 0},
	}
	var names []string
	var as []arrow.DataType
	for k := range columns {
		names, as = append(names, fmt.Sprint("c", k)), append(as, arrow.PrimitiveTypes.Float32)
	}
	p := fileOf(t, names, columns...)
	to, ok, err := wordsOf(t, p, memory.Heap, as...)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	for k, w := range want {
		for i, x := range w {
			if got := math.Float32frombits(to[i*len(want)+k]); got != x {
				t.Errorf("%v: %v, not %v", columns[k].DataType(), got, x)
			}
		}
	}
	for k := range as {
		as[k] = arrow.PrimitiveTypes.Int64
	}
	if _, ok, err := wordsOf(t, p, memory.Heap, as...); ok || err != nil {
		t.Errorf("words of 64 bits: %v, %v", ok, err)
	}
}

// TestWordsDamaged flips every bit of a small file: what is read then is an error
// that names the file, or some values, and never a panic.
func TestWordsDamaged(t *testing.T) {
	p, _ := wordsFile(t, 90, []int{5, 40}, true)
	whole, err := os.ReadFile(p.path)
	if err != nil {
		t.Fatal(err)
	}
	path, named := filepath.Join(t.TempDir(), "flipped.parquet"), 0
	for bit := range 8 * min(500, len(whole)) {
		damaged := append([]byte(nil), whole...)
		damaged[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := openParquet(path, ParquetReadOptions{})
		if err != nil {
			continue
		}
		_, _, err = wordsOf(t, f, memory.Heap)
		f.close()
		if err == nil {
			continue
		}
		if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "row group 0") {
			t.Fatalf("bit %d: %v", bit, err)
		}
		if strings.Contains(err.Error(), "of a dictionary of") {
			named++
		}
	}
	if named == 0 {
		t.Error("no flip made an index that is too large")
	}
}

// TestWordLayouts: columns go to rows, to places of their own and to rows in another
// order, where they lie beside each other only in part, and slices that end with the
// last value of their column.
func TestWordLayouts(t *testing.T) {
	const rows, columns = 700, 20
	var distinct []int
	for k := range columns {
		distinct = append(distinct, 1+k*k*3)
	}
	p, values := wordsFile(t, rows, distinct, false)
	var fields []int
	var as []arrow.DataType
	for k := range columns {
		fields, as = append(fields, k), append(as, arrow.PrimitiveTypes.Int32)
	}
	r := groupReader{file: p, from: memory.Heap, want: p.schema, fields: fields, most: 1 << 20}
	g, err := r.words(context.Background(), as)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for name, place := range map[string]func(k int) (at, stride int){
		"rows":              func(k int) (int, int) { return k, columns },
		"wider rows":        func(k int) (int, int) { return k, columns + 3 },
		"columns":           func(k int) (int, int) { return k * rows, 1 },
		"rows, the last on": func(k int) (int, int) { return columns - 1 - k, columns },
		"rows of seven":     func(k int) (int, int) { return k/7*7*rows + k%7, 7 },
	} {
		for _, n := range []int64{1, 15, 300, rows - 1} {
			const unset = 1<<32 - 1
			to, into := slices.Repeat([]uint32{unset}, rows*(columns+4)), make([]Words, columns)
			for k := range into {
				at, stride := place(k)
				end := at + (int(n)-1)*stride + 1
				into[k] = Words{to[at:end:end], int64(stride)}
			}
			if err := g.Read(1, n, into); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for k := range into {
				for i := range n {
					if got, want := into[k].To[i*into[k].Stride], uint32(values[k][i+1]); got != want {
						t.Fatalf("%s, %d rows: column %d, row %d: %d, not %d", name, n, k, i, got, want)
					}
				}
			}
			if set := len(to) - count(to, unset); set != int(n)*columns {
				t.Errorf("%s, %d rows: %d values are stored", name, n, set)
			}
		}
	}
}

func count(v []uint32, x uint32) (n int) {
	for _, y := range v {
		if y == x {
			n++
		}
	}
	return n
}
