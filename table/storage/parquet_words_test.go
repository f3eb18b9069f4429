package storage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
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
	p, err := openParquet(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p, values
}

func wordsOf(p *parquetFile, from memory.Allocator, columns int, rows int64) (to []uint32, ok bool, err error) {
	to = make([]uint32, int64(columns)*rows)
	var into []Words
	var fields []int
	for k := range columns {
		into, fields = append(into, Words{to[k:], int64(columns)}), append(fields, k)
	}
	g := groupReader{file: p, from: from, want: p.schema, fields: fields, most: 1 << 20}
	ok, err = g.words(context.Background(), into)
	return to, ok, err
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
				to, ok, err := wordsOf(p, counted, len(distinct), int64(rows))
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
		if _, ok, err := wordsOf(p, memory.Heap, 1, 3); ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
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
		f, err := openParquet(path)
		if err != nil {
			continue
		}
		_, _, err = wordsOf(f, memory.Heap, 2, 90)
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
