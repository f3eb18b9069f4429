package storage_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// write writes a table as arrow-go does with these properties.
func write(t testing.TB, w *table.Table, path string, rows int64, props ...parquet.WriterProperty) {
	t.Helper()
	records, err := w.ToRecords()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	all := array.NewTableFromRecords(w.Schema(), records)
	for _, r := range records {
		r.Release()
	}
	defer all.Release()
	if err := pqarrow.WriteTable(all, f, rows, parquet.NewWriterProperties(props...), pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema())); err != nil {
		t.Fatal(err)
	}
}

// asArrow reads a file through arrow-go and holds its columns against ours.
func asArrow(t *testing.T, path string, got *table.Table) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := pqarrow.ReadTable(context.Background(), bytes.NewReader(content), parquet.NewReaderProperties(arrowmem.DefaultAllocator),
		pqarrow.ArrowReadProperties{}, arrowmem.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer want.Release()
	if got.NumRows() != want.NumRows() || got.NumColumns() != int(want.NumCols()) {
		t.Fatalf("%d rows of %d columns, arrow-go has %d of %d", got.NumRows(), got.NumColumns(), want.NumRows(), want.NumCols())
	}
	for i := range got.NumColumns() {
		one, err := array.Concatenate(want.Column(i).Data().Chunks(), arrowmem.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		ours := flatten(t, got, i)
		if !array.Equal(one, ours) && fmt.Sprint(one) != fmt.Sprint(ours) { // NaN is not equal to itself
			t.Errorf("column %q is not as arrow-go reads it", got.Schema().Field(i).Name)
		}
		one.Release()
		ours.Release()
	}
}

// TestParquetAsArrow reads files of every codec, page version and encoding as
// arrow-go does, in batches that do not end where pages do.
func TestParquetAsArrow(t *testing.T) {
	b := backend(t)
	types := slices.DeleteFunc(slices.Clone(parquetToo), func(t arrow.DataType) bool { return t.ID() == arrow.NULL }) // arrow-go fails on its pages of brotli
	type layout struct {
		name  string
		props []parquet.WriterProperty
	}
	layouts := []layout{
		{"v1", []parquet.WriterProperty{parquet.WithDataPageSize(256), parquet.WithBatchSize(16)}},
		{"v2", []parquet.WriterProperty{parquet.WithDataPageSize(256), parquet.WithBatchSize(16), parquet.WithDataPageVersion(parquet.DataPageV2)}},
		{"plain", []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithDataPageSize(300), parquet.WithBatchSize(16)}},
		{"plain v2", []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithDataPageVersion(parquet.DataPageV2)}},
		{"dictionary that ends", []parquet.WriterProperty{parquet.WithDictionaryPageSizeLimit(400), parquet.WithDataPageSize(256), parquet.WithBatchSize(16)}},
	}
	codecs := map[string]compress.Compression{"none": compress.Codecs.Uncompressed, "snappy": compress.Codecs.Snappy, "gzip": compress.Codecs.Gzip,
		"brotli": compress.Codecs.Brotli, "zstd": compress.Codecs.Zstd, "lz4": compress.Codecs.Lz4Raw}
	for _, nulls := range []float64{0, 0.2, 1} {
		w := tableOf(t, b, 23, types, nulls, 300, 1, 77)
		for i, l := range layouts {
			for codec, c := range codecs {
				if codec != "snappy" && codec != "zstd" && nulls != 0.2 {
					continue
				}
				// Values differ in each, goroutines with the layout and with the codec.
				if backends.RaceDetector && (nulls != 0.2 || i > 0 && codec != "snappy") {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/nulls=%v", l.name, codec, nulls), func(t *testing.T) {
					path := filepath.Join(t.TempDir(), "a.parquet")
					write(t, w, path, 250, append(l.props, parquet.WithCompression(c), parquet.WithVersion(parquet.V2_LATEST))...)
					got, err := storage.ReadParquet(context.Background(), b, path, storage.ReadOptions{BatchRows: 70})
					if err != nil {
						t.Fatal(err)
					}
					defer got.Release()
					asArrow(t, path, got)
				})
			}
		}
		w.Release()
	}
}

// TestParquetOtherEncodings has columns of encodings that arrow-go decodes
// beside others.
func TestParquetOtherEncodings(t *testing.T) {
	b := backend(t)
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String, arrow.BinaryTypes.String,
		arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int16}
	for _, nulls := range []float64{0, 0.3} {
		w := tableOf(t, b, 29, types, nulls, 500)
		props := []parquet.WriterProperty{parquet.WithDataPageSize(256), parquet.WithVersion(parquet.V2_LATEST)}
		for i, e := range map[int]parquet.Encoding{1: parquet.Encodings.DeltaBinaryPacked, 2: parquet.Encodings.ByteStreamSplit, 3: parquet.Encodings.DeltaLengthByteArray,
			4: parquet.Encodings.DeltaByteArray, 5: parquet.Encodings.RLE} {
			name := w.Schema().Field(i).Name
			props = append(props, parquet.WithDictionaryFor(name, false), parquet.WithEncodingFor(name, e))
		}
		for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
			path := filepath.Join(t.TempDir(), "a.parquet")
			write(t, w, path, 300, append(props, parquet.WithDataPageVersion(version))...)
			got, err := storage.ReadParquet(context.Background(), b, path, storage.ReadOptions{BatchRows: 64})
			if err != nil {
				t.Fatal(err)
			}
			asArrow(t, path, got)
			got.Release()
		}
		w.Release()
	}
}
