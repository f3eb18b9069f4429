package storage_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// flat are the types that every format takes; nested those that IPC takes too.
var (
	flat = []arrow.DataType{
		arrow.FixedWidthTypes.Boolean,
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
		arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		arrow.FixedWidthTypes.Date32,
		arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time32ms, arrow.FixedWidthTypes.Time64us, arrow.FixedWidthTypes.Time64ns,
		&arrow.TimestampType{Unit: arrow.Millisecond}, &arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Nanosecond},
		arrow.FixedWidthTypes.Timestamp_us, &arrow.TimestampType{Unit: arrow.Second, TimeZone: "UTC"},
		arrow.FixedWidthTypes.Duration_ms,
		&arrow.Decimal128Type{Precision: 9, Scale: 2}, &arrow.Decimal128Type{Precision: 38, Scale: 10},
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary,
	}
	texts = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: arrow.BinaryTypes.String}
	// wideTexts have the indices that dictionaries of a stream are read with.
	wideTexts = &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	lists     = arrow.ListOf(arrow.PrimitiveTypes.Int32)
	nested    = append(append([]arrow.DataType{}, flat...), arrow.FixedWidthTypes.Date64, texts, arrow.Null, arrow.FixedWidthTypes.Float16, lists,
		arrow.LargeListOf(arrow.BinaryTypes.String), arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
			arrow.Field{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true}))
	streamed   = append(slices.DeleteFunc(slices.Clone(nested), func(t arrow.DataType) bool { return t == arrow.DataType(texts) }), wideTexts)
	parquetToo = append(slices.DeleteFunc(slices.Clone(flat), noParquet), arrow.Null, arrow.FixedWidthTypes.Float16, lists, arrow.ListOf(arrow.BinaryTypes.String))
)

// noParquet is true of what Parquet has not got: durations, and times in seconds,
// which come back in milliseconds.
func noParquet(t arrow.DataType) bool {
	u, timed := t.(arrow.TemporalWithUnit)
	return timed && u.TimeUnit() == arrow.Second || t.ID() == arrow.DURATION
}

// value is a random value of a type as text that its builder reads.
func value(r *rand.Rand, t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.BooleanType:
		return strconv.FormatBool(r.IntN(2) == 0)
	case *arrow.Int8Type:
		return strconv.Itoa(r.IntN(256) - 128)
	case *arrow.Int16Type:
		return strconv.Itoa(r.IntN(1<<16) - 1<<15)
	case *arrow.Int32Type:
		return strconv.Itoa(int(int32(r.Uint32())))
	case *arrow.Int64Type:
		return strconv.FormatInt(int64(r.Uint64()), 10)
	case *arrow.Uint8Type:
		return strconv.Itoa(r.IntN(256))
	case *arrow.Uint16Type:
		return strconv.Itoa(r.IntN(1 << 16))
	case *arrow.Uint32Type:
		return strconv.FormatUint(uint64(r.Uint32()), 10)
	case *arrow.Uint64Type:
		return strconv.FormatUint(r.Uint64(), 10)
	case *arrow.Float16Type:
		return strconv.Itoa(r.IntN(100))
	case *arrow.Float32Type:
		return strconv.FormatFloat(float64(r.Float32())*1e6, 'g', -1, 32)
	case *arrow.Float64Type:
		return []string{"NaN", "Inf", "-Inf", "-0", strconv.FormatFloat(r.NormFloat64()*1e9, 'g', -1, 64)}[min(r.IntN(40), 4)]
	case *arrow.Date32Type, *arrow.Date64Type:
		return arrow.Date32(r.IntN(60000) - 30000).FormattedString()
	case *arrow.Time32Type:
		if t.Unit == arrow.Second {
			return fmt.Sprintf("%02d:%02d:%02d", r.IntN(24), r.IntN(60), r.IntN(60))
		}
		return fmt.Sprintf("%02d:%02d:%02d.%03d", r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000))
	case *arrow.Time64Type:
		return fmt.Sprintf("%02d:%02d:%02d.%06d", r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1e6))
	case *arrow.TimestampType:
		return arrow.Timestamp(r.IntN(4e9)-2e9).ToTime(arrow.Second).Format("2006-01-02 15:04:05") +
			[]string{"", ".123", ".123456", ".123456789"}[t.Unit] + map[bool]string{true: "Z"}[t.TimeZone != ""]
	case *arrow.DurationType:
		return strconv.Itoa(r.IntN(1e9)) + "ms"
	case *arrow.Decimal128Type:
		return fmt.Sprintf("%d.%0*d", r.IntN(2_000_000)-1_000_000, t.Scale, r.IntN(100))
	case *arrow.DictionaryType:
		return []string{"red", "green", "blue", "", "ä,\"b\"\n"}[r.IntN(5)]
	case *arrow.ListType:
		if t.Elem().ID() == arrow.STRING {
			return []string{`[]`, `["x"]`, `["", null, "long enough"]`}[r.IntN(3)]
		}
		return []string{`[]`, `[1]`, `[2, null, 3]`}[r.IntN(3)]
	case *arrow.LargeListType:
		return []string{`[]`, `["x"]`, `["", null, "long enough"]`}[r.IntN(3)]
	case *arrow.StructType:
		return []string{`{"a": 1, "b": "x"}`, `{"a": null, "b": ""}`}[r.IntN(2)]
	}
	return []string{"", "x", "with, comma", "two\nlines", "\"quoted\"", "cr\r\nlf", "ünïcödé ✈", "NA", "plain words " + strconv.Itoa(r.IntN(1000))}[r.IntN(9)]
}

// columnOf is a random column of n values, a part of them null.
func columnOf(t testing.TB, r *rand.Rand, typ arrow.DataType, n int, nulls float64) *memory.Column {
	t.Helper()
	b := array.NewBuilder(arrowmem.DefaultAllocator, typ)
	defer b.Release()
	for range n {
		if typ.ID() == arrow.NULL || r.Float64() < nulls {
			b.AppendNull()
			continue
		}
		v := value(r, typ)
		var err error
		switch b := b.(type) {
		case *array.BinaryBuilder: // would take the text for base64
			b.Append([]byte(v))
		default:
			err = b.AppendValueFromString(v)
		}
		if err != nil {
			t.Fatalf("%s of %q: %v", typ, v, err)
		}
	}
	a := b.NewArray()
	defer a.Release()
	c, err := memory.FromArrow(a)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tableOf is a random table with chunks of the given lengths, each a window
// of longer columns.
func tableOf(t testing.TB, bk *kernels.Backend, seed uint64, types []arrow.DataType, nulls float64, chunks ...int) *table.Table {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	var fields []arrow.Field
	for i, typ := range types {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d %s", i, typ.Name()), Type: typ, Nullable: true})
	}
	schema := arrow.NewSchema(fields, nil)
	var all []*table.Batch
	for _, n := range chunks {
		columns := make([]*memory.Column, len(types))
		for i, typ := range types {
			long := columnOf(t, r, typ, n+11, nulls)
			var err error
			if columns[i], err = long.Slice(5, int64(n)); err != nil {
				t.Fatal(err)
			}
			long.Release()
		}
		b, err := table.NewBatch(schema, int64(n), columns)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b)
	}
	out, err := table.NewTable(bk, schema, all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// flatten gives column i of a table as one array, dictionaries as their values.
func flatten(t testing.TB, tab *table.Table, i int) arrow.Array {
	t.Helper()
	b := array.NewBuilder(arrowmem.DefaultAllocator, valueType(tab.Schema().Field(i).Type))
	defer b.Release()
	arrays := []arrow.Array{b.NewArray()}
	records, err := tab.ToRecords()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		a := r.Column(i)
		a.Retain()
		r.Release()
		if d, ok := a.(*array.Dictionary); ok {
			v := array.NewBuilder(arrowmem.DefaultAllocator, valueType(d.DataType()))
			for row := range d.Len() {
				if d.IsNull(row) {
					v.AppendNull()
				} else {
					if err := v.AppendValueFromString(d.Dictionary().ValueStr(d.GetValueIndex(row))); err != nil {
						t.Fatal(err)
					}
				}
			}
			a.Release()
			a = v.NewArray()
			v.Release()
		}
		arrays = append(arrays, a)
	}
	one, err := array.Concatenate(arrays, arrowmem.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range arrays {
		a.Release()
	}
	return one
}

func valueType(t arrow.DataType) arrow.DataType {
	if d, ok := t.(*arrow.DictionaryType); ok {
		return d.ValueType
	}
	return t
}

// same checks that two tables have the same columns and rows.
func same(t testing.TB, got, want *table.Table) {
	t.Helper()
	if got.NumRows() != want.NumRows() {
		t.Fatalf("%d rows, not %d", got.NumRows(), want.NumRows())
	}
	if got.NumColumns() != want.NumColumns() {
		t.Fatalf("%d columns, not %d", got.NumColumns(), want.NumColumns())
	}
	for i, f := range want.Schema().Fields() {
		g := got.Schema().Field(i)
		if g.Name != f.Name || !arrow.TypeEqual(g.Type, f.Type) {
			t.Errorf("column %d is %q of %s, not %q of %s", i, g.Name, g.Type, f.Name, f.Type)
			continue
		}
		a, b := flatten(t, got, i), flatten(t, want, i)
		if !array.ApproxEqual(a, b, array.WithNaNsEqual(true), array.WithAbsTolerance(0)) {
			t.Errorf("column %q differs:\n%.600v\nshould be\n%.600v", f.Name, a, b)
		}
		a.Release()
		b.Release()
	}
}

var shapes = []struct {
	name   string
	nulls  float64
	chunks []int
}{
	{"empty", 0, nil},
	{"one row", 0, []int{1}},
	{"no nulls", 0, []int{100, 7}},
	{"nulls", 0.3, []int{64, 1, 65, 1000}},
	{"all null", 1, []int{9, 8}},
}

func TestRoundTrip(t *testing.T) {
	ctx := context.Background()
	typesGiven := func(w *table.Table) storage.CSVOptions {
		o := storage.CSVOptions{Types: map[string]arrow.DataType{}}
		for _, f := range w.Schema().Fields() {
			o.Types[f.Name] = f.Type
		}
		return o
	}
	formats := []struct {
		name  string
		types []arrow.DataType
		write func(w *table.Table, path string) error
		read  func(b *kernels.Backend, w *table.Table, path string) (*table.Table, error)
	}{
		{"parquet", parquetToo, func(w *table.Table, path string) error {
			return storage.WriteParquet(ctx, w, path, storage.ParquetOptions{})
		}, nil},
		{"parquet zstd, small row groups", parquetToo, func(w *table.Table, path string) error {
			return storage.WriteParquet(ctx, w, path, storage.ParquetOptions{Compression: storage.CompressionZstd, RowGroupRows: 100})
		}, nil},
		{"parquet none", parquetToo, func(w *table.Table, path string) error {
			return storage.WriteParquet(ctx, w, path, storage.ParquetOptions{Compression: storage.CompressionNone})
		}, nil},
		{"ipc file", nested, func(w *table.Table, path string) error {
			return storage.WriteIPC(ctx, w, path, storage.IPCOptions{})
		}, nil},
		{"ipc file zstd", nested, func(w *table.Table, path string) error {
			return storage.WriteIPC(ctx, w, path, storage.IPCOptions{Compression: storage.CompressionZstd})
		}, nil},
		{"ipc stream", streamed, func(w *table.Table, path string) error {
			return storage.WriteIPC(ctx, w, path, storage.IPCOptions{Stream: true})
		}, nil},
		{"ipc stream lz4", streamed, func(w *table.Table, path string) error {
			return storage.WriteIPC(ctx, w, path, storage.IPCOptions{Stream: true, Compression: storage.CompressionLZ4})
		}, nil},
		{"csv", flat, func(w *table.Table, path string) error {
			return storage.WriteCSV(ctx, w, path, storage.CSVWriteOptions{})
		}, func(b *kernels.Backend, w *table.Table, path string) (*table.Table, error) {
			return storage.ReadCSV(ctx, b, path, typesGiven(w), storage.ReadOptions{})
		}},
		{"csv, tabs and NA", flat, func(w *table.Table, path string) error {
			return storage.WriteCSV(ctx, w, path, storage.CSVWriteOptions{Delimiter: '\t', Null: "NA"})
		}, func(b *kernels.Backend, w *table.Table, path string) (*table.Table, error) {
			o := typesGiven(w)
			o.Delimiter, o.Nulls = '\t', []string{"NA"}
			return storage.ReadCSV(ctx, b, path, o, storage.ReadOptions{})
		}},
	}
	extensions := map[string]string{"parq": ".parquet", "ipc ": ".arrow", "csv": ".csv", "csv,": ".csv"}
	for _, f := range formats {
		for k, s := range shapes {
			if backends.RaceDetector && s.name != "empty" && s.name != "nulls" {
				continue // goroutines are those of the format
			}
			t.Run(f.name+"/"+s.name, func(t *testing.T) {
				b := backend(t)
				w := tableOf(t, b, uint64(k), f.types, s.nulls, s.chunks...)
				defer w.Release()
				path := filepath.Join(t.TempDir(), "table"+extensions[f.name[:min(4, len(f.name))]])
				if err := f.write(w, path); err != nil {
					t.Fatal(err)
				}
				var got *table.Table
				var err error
				if f.read != nil {
					got, err = f.read(b, w, path)
				} else {
					got = read(t, b, path)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer got.Release()
				same(t, got, w)
			})
		}
	}
}

// TestOneColumn is about CSV lines that are empty because their only field is.
func TestOneColumn(t *testing.T) {
	b := backend(t)
	w := tableOf(t, b, 3, []arrow.DataType{arrow.BinaryTypes.String}, 0.5, 40)
	defer w.Release()
	var buf bytes.Buffer
	if err := storage.WriteCSVTo(context.Background(), w, &buf, storage.CSVWriteOptions{}); err != nil {
		t.Fatal(err)
	}
	got := read(t, b, file(t, "one.csv", buf.Bytes()))
	defer got.Release()
	same(t, got, w)
}

// TestDictionaries has chunks with different dictionaries in a file, which has
// one dictionary a column.
func TestDictionaries(t *testing.T) {
	b := backend(t)
	for name, of := range map[string]arrow.DataType{"d.arrow": texts, "d.arrows": wideTexts, "d.parquet": wideTexts} {
		w := tableOf(t, b, 4, []arrow.DataType{of}, 0.1, 3, 50, 2)
		defer w.Release()
		path := filepath.Join(t.TempDir(), name)
		if err := storage.Write(context.Background(), w, path); err != nil {
			t.Fatal(err)
		}
		got := read(t, b, path)
		same(t, got, w)
		got.Release()
	}
}

func TestConvert(t *testing.T) {
	ctx := context.Background()
	b := backend(t)
	first := read(t, b, airports)
	defer first.Release()
	path := airports
	for _, ext := range []string{".parquet", ".arrow", ".arrows", ".tsv", ".csv"} {
		s, err := storage.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(t.TempDir(), "airports"+ext)
		rows, err := storage.Convert(ctx, b, s, to, "")
		if err != nil || rows != 3376 {
			t.Fatalf("%s: %d rows, %v", ext, rows, err)
		}
		path = to
	}
	last := read(t, b, path)
	defer last.Release()
	same(t, last, first)
}
