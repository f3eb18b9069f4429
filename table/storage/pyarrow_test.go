package storage_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// The files of these tests are written by testdata/write_pyarrow.py.

// TestZones: the zone of a timestamp comes back whatever unit the file has it in.
func TestZones(t *testing.T) {
	b := backend(t)
	zones := map[string][2]string{ // and what row 1 is there
		"berlin": {"Europe/Berlin", `["2020-09-13T14:26:40+02:00"]`}, "utc": {"UTC", `["2020-09-13T12:26:40Z"]`},
		"none": {"", `["2020-09-13T12:26:40"]`}, "list": {"Asia/Tokyo", `[["2020-09-13T21:26:40+09:00"]]`},
	}
	for name, units := range map[string][]arrow.TimeUnit{ // of columns in s, ms, us and ns
		"1.0": {arrow.Millisecond, arrow.Millisecond, arrow.Microsecond, arrow.Microsecond},
		"2.4": {arrow.Millisecond, arrow.Millisecond, arrow.Microsecond, arrow.Microsecond},
		"2.6": {arrow.Millisecond, arrow.Millisecond, arrow.Microsecond, arrow.Nanosecond},
		"ms":  {arrow.Millisecond, arrow.Millisecond, arrow.Millisecond, arrow.Millisecond},
		"us":  {arrow.Microsecond, arrow.Microsecond, arrow.Microsecond, arrow.Microsecond},
	} {
		got := read(t, b, "testdata/zones-"+name+".parquet")
		values := columnsOf(t, got)
		for i, unit := range units {
			for kind, zone := range zones {
				column := kind + "_" + []string{"s", "ms", "us", "ns"}[i]
				fields, _ := got.Schema().FieldsByName(column)
				of := fields[0].Type
				if list, is := of.(*arrow.ListType); is {
					of = list.Elem()
				}
				if want := (&arrow.TimestampType{Unit: unit, TimeZone: zone[0]}); !arrow.TypeEqual(of, want) {
					t.Errorf("%s: column %s is of type %s, not %s", name, column, of, want)
				}
				if values[column][1] != zone[1] {
					t.Errorf("%s: column %s has %s, not %s", name, column, values[column][1], zone[1])
				}
			}
		}
		got.Release()
	}
}

// wordsOf are the 300 words of three files of categories.
func wordsOf(nulls bool) (words []string) {
	for k := range 300 {
		words = append(words, fmt.Sprintf("[%q]", fmt.Sprint("word ", k)))
		if nulls && k%100 == 99 {
			words = append(words, "[null]")
		}
	}
	return words
}

// TestCategories unites dictionaries that 8 bits number one by one and not together:
// by the reader, by a union, and in what is written of both.
func TestCategories(t *testing.T) {
	ctx := context.Background()
	b := backend(t)
	dir := t.TempDir()
	check := func(what string, got *table.Table, err error, nulls bool) {
		t.Helper()
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		defer got.Release()
		if values := columnsOf(t, got)["word"]; !slices.Equal(values, wordsOf(nulls)) {
			t.Errorf("%s: %d values, some of them wrong: %.80s", what, len(values), values)
		}
		for _, out := range []string{"out.arrow", "out.arrows", "out.parquet", "out.csv"} {
			path := filepath.Join(dir, out)
			if err := storage.Write(ctx, got, path); err != nil {
				t.Errorf("%s: %s: %v", what, out, err)
				continue
			}
			again := read(t, b, path)
			want := wordsOf(nulls)
			if out == "out.csv" && nulls { // whose only column of text has an empty line for a null, as it is read
				want = wordsOf(nulls)
			}
			if values := columnsOf(t, again)["word"]; !slices.Equal(values, want) {
				t.Errorf("%s: %s: %d values, some of them wrong: %.80s", what, out, len(values), values)
			}
			again.Release()
		}
		for _, q := range []*table.Query{got.Query().Sort(table.Asc("word")), got.Query().GroupBy("word").Agg(table.Count())} {
			made, err := q.Collect(ctx)
			if err != nil {
				t.Errorf("%s: %v", what, err)
				continue
			}
			made.Release()
		}
	}
	for _, ext := range []string{"arrow", "parquet"} {
		got, err := storage.Read(ctx, b, openSource(t, "testdata/categories-*."+ext), storage.ReadOptions{})
		check("files of "+ext, got, err, true)
		var parts []*table.Table
		for _, name := range "abc" {
			parts = append(parts, read(t, b, fmt.Sprintf("testdata/categories-%c.%s", name, ext)))
		}
		got, err = parts[0].Query().Union(parts[1], parts[2]).Collect(ctx)
		check("a union of "+ext, got, err, true)
		for _, p := range parts {
			p.Release()
		}
	}
	got, err := storage.ReadIPC(ctx, b, "testdata/categories.arrows", storage.ReadOptions{})
	check("a stream", got, err, false)
}

func openSource(t *testing.T, path string) table.Source {
	t.Helper()
	s, err := storage.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestChunksOfCategories makes a table of chunks whose dictionaries 8 bits number one by
// one; where they number all, their type stays.
func TestChunksOfCategories(t *testing.T) {
	b := backend(t)
	for _, c := range []struct {
		index  arrow.DataType
		chunks int
		want   arrow.DataType
	}{
		{arrow.PrimitiveTypes.Int8, 1, arrow.PrimitiveTypes.Int8},
		{arrow.PrimitiveTypes.Int8, 2, arrow.PrimitiveTypes.Int32},
		{arrow.PrimitiveTypes.Uint8, 2, arrow.PrimitiveTypes.Uint8},
		{arrow.PrimitiveTypes.Uint8, 3, arrow.PrimitiveTypes.Int32},
		{arrow.PrimitiveTypes.Int16, 3, arrow.PrimitiveTypes.Int16},
	} {
		of := &arrow.DictionaryType{IndexType: c.index, ValueType: arrow.BinaryTypes.String}
		schema := arrow.NewSchema([]arrow.Field{{Name: "word", Type: of, Nullable: true}}, nil)
		var chunks []*table.Batch
		for range 2 { // the same dictionaries twice
			for k := range c.chunks {
				var words []kernels.Scalar
				for i := range 100 {
					words = append(words, kernels.Text(of.ValueType, fmt.Sprint("word ", 100*k+i)))
				}
				stream, err := b.NewStream()
				if err != nil {
					t.Fatal(err)
				}
				column, err := b.FromScalars(context.Background(), stream, of, words)
				if err != nil {
					t.Fatal(err)
				}
				if err := stream.Close(); err != nil {
					t.Fatal(err)
				}
				batch, err := table.NewBatch(schema, 100, []*memory.Column{column})
				if err != nil {
					t.Fatal(err)
				}
				chunks = append(chunks, batch)
			}
		}
		got, err := table.NewTable(b, schema, chunks)
		if err != nil {
			t.Fatal(err)
		}
		if have := got.Schema().Field(0).Type.(*arrow.DictionaryType).IndexType; !arrow.TypeEqual(have, c.want) {
			t.Errorf("%d chunks with indices of %s: %s, not %s", c.chunks, c.index, have, c.want)
		}
		want := wordsOf(false)[:100*c.chunks]
		if values := columnsOf(t, got)["word"]; !slices.Equal(values, append(slices.Clone(want), want...)) {
			t.Errorf("%d chunks with indices of %s: wrong values", c.chunks, c.index)
		}
		got.Release()
	}
}

// TestInt96 reads timestamps of 96 bits in each unit.
func TestInt96(t *testing.T) {
	ctx := context.Background()
	b := backend(t)
	for _, coded := range []string{"", "-dictionary"} {
		near, far := "testdata/int96-near"+coded+".parquet", "testdata/int96-far"+coded+".parquet"
		for unit, want := range map[string][]string{
			"":   {`["2001-02-03T04:05:06.789012Z"]`, `[null]`, `["1969-12-31T23:59:59Z"]`},
			"us": {`["2001-02-03T04:05:06.789012Z"]`, `[null]`, `["1969-12-31T23:59:59Z"]`, `["9999-12-31T23:59:59.999999Z"]`, `["0001-01-01T00:00:00Z"]`},
			"ms": {`["2001-02-03T04:05:06.789Z"]`, `[null]`, `["1969-12-31T23:59:59Z"]`, `["9999-12-31T23:59:59.999Z"]`, `["0001-01-01T00:00:00Z"]`},
		} {
			path := far
			if unit == "" {
				path = near
			}
			got, err := storage.Read(ctx, b, storage.Parquet(path).With(storage.ParquetReadOptions{Int96: unit}), storage.ReadOptions{})
			if err != nil {
				t.Errorf("%s in %q: %v", path, unit, err)
				continue
			}
			if values := columnsOf(t, got)["when"]; !slices.Equal(values, want) {
				t.Errorf("%s in %q: %v, not %v", path, unit, values, want)
			}
			got.Release()
		}
		_, err := storage.ReadParquet(ctx, b, far, storage.ReadOptions{})
		wantError(t, err, device.ErrValue, far, `"when"`, "9999-12-31", "Int96")
		got, err := storage.ReadParquet(ctx, b, far, storage.ReadOptions{Columns: []string{"id"}})
		if err != nil || got.NumRows() != 5 {
			t.Errorf("another column of %s: %v", far, err)
		}
		got.Release()
	}
	_, err := storage.Read(ctx, b, storage.Parquet("testdata/int96-far.parquet").With(storage.ParquetReadOptions{Int96: "s"}), storage.ReadOptions{})
	wantError(t, err, device.ErrMismatch, "Int96", `"s"`)
}

// TestDeltas reads what pyarrow writes in differences, which has the values of the same
// columns written plain.
func TestDeltas(t *testing.T) {
	b := backend(t)
	for _, name := range []string{"delta-1.0", "delta-2.0", "delta-lengths"} {
		got := read(t, b, "testdata/"+name+".parquet")
		values := columnsOf(t, got)
		for i := range 300 {
			v := i*i - 1000
			for column, want := range map[string]string{
				"number": fmt.Sprintf("[%d]", v), "text": fmt.Sprintf(`["text %d"]`, v), "short": fmt.Sprintf("[%d]", (v%100+100)%100),
				"decimal":  strings.Replace(fmt.Sprintf(`["%s%d.%02d"]`, map[bool]string{true: "-"}[v < 0], max(v, -v)/100, max(v, -v)%100), ".00", "", 1),
				"duration": fmt.Sprintf(`["%dus"]`, v),
			} {
				if i%7 == 3 {
					want = "[null]"
				}
				if have := values[column]; have != nil && have[i] != want {
					t.Errorf("%s: row %d of %s is %s, not %s", name, i, column, have[i], want)
				}
			}
		}
		if n := len(values); n != map[bool]int{true: 2, false: 8}[name == "delta-lengths"] {
			t.Errorf("%s: %d columns", name, n)
		}
		got.Release()
	}
	got := read(t, b, "testdata/split.parquet")
	if values := columnsOf(t, got); values["float"][0] != "[-125]" || values["double"][2] != "[-124.5]" || values["int"][5] != "[-975]" {
		t.Errorf("split: %v %v %v", values["float"][0], values["double"][2], values["int"][5])
	}
	got.Release()
}

// TestListsOfDictionaries reads lists of dictionaries of which a row group has no item.
func TestListsOfDictionaries(t *testing.T) {
	b := backend(t)
	want := []string{`[["a","b"]]`, `[null]`, `[[]]`, `[[null]]`, `[null]`, `[[]]`, `[["c"]]`, `[["a"]]`}
	for name, want := range map[string][]string{"lists-dictionary": want, "lists-empty": want[4:6]} {
		got := read(t, b, "testdata/"+name+".parquet")
		if values := columnsOf(t, got)["list"]; !slices.Equal(values, want) {
			t.Errorf("%s: %v", name, values)
		}
		got.Release()
	}
}

// TestParquetOfStructs: what could not be read back is not written.
func TestParquetOfStructs(t *testing.T) {
	ctx := context.Background()
	b := backend(t)
	of := arrow.StructOf(arrow.Field{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, arrow.Field{Name: "b", Type: arrow.BinaryTypes.String, Nullable: true})
	w := tableOf(t, b, 3, []arrow.DataType{arrow.PrimitiveTypes.Int64, of}, 0.2, 10)
	defer w.Release()
	path := filepath.Join(t.TempDir(), "structs.parquet")
	wantError(t, storage.WriteParquet(ctx, w, path, storage.ParquetOptions{}), device.ErrUnsupported, path, "struct", w.Schema().Field(1).Name)
}
