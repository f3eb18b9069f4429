package storage_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// columnsOf are the values of a table's columns, as JSON.
func columnsOf(t *testing.T, w *table.Table) map[string][]string {
	t.Helper()
	values := map[string][]string{}
	for i, f := range w.Schema().Fields() {
		c := flatten(t, w, i)
		for row := range c.Len() {
			one := array.NewSlice(c, int64(row), int64(row+1))
			text, err := json.Marshal(one)
			one.Release()
			if err != nil {
				t.Fatal(err)
			}
			values[f.Name] = append(values[f.Name], string(text))
		}
		c.Release()
	}
	return values
}

// writeIPC writes an IPC file of one column c.
func writeIPC(t *testing.T, path string, of arrow.DataType, values string) {
	t.Helper()
	c, _, err := array.FromJSON(arrowmem.DefaultAllocator, of, strings.NewReader(values))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	schema := arrow.NewSchema([]arrow.Field{{Name: "c", Type: of, Nullable: true}}, nil)
	rec := array.NewRecordBatch(schema, []arrow.Array{c}, int64(c.Len()))
	defer rec.Release()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
	if err == nil {
		err = w.Write(rec)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPolarsFiles reads what Polars 2.1 writes, with views for texts, also in
// lists and dictionaries, and arrays of a fixed size.
func TestPolarsFiles(t *testing.T) {
	ctx := context.Background()
	b := backend(t)
	want := map[string][]string{
		"id":       {`[1]`, `[2]`, `[3]`, `[4]`},
		"text":     {`["a"]`, `["text that is longer than twelve bytes"]`, `[null]`, `[""]`},
		"bytes":    {`["eA=="]`, `[null]`, `["Ynl0ZXMgdGhhdCBhcmUgbG9uZ2VyIHRoYW4gdHdlbHZl"]`, `[""]`},
		"category": {`["x"]`, `["a category of more than twelve"]`, `["x"]`, `[null]`},
		"texts":    {`[["a"]]`, `[["b","text that is longer than twelve bytes"]]`, `[null]`, `[[]]`},
		"pair":     {`[[1,2]]`, `[[3,4]]`, `[null]`, `[[5,6]]`},
		"wait":     {`["1000000us"]`, `[null]`, `["-86400000000us"]`, `["0us"]`},
	}
	check := func(t *testing.T, got *table.Table, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer got.Release()
		values := columnsOf(t, got)
		if len(values) != len(want) {
			t.Errorf("columns %v", got.Schema())
		}
		for name, w := range want {
			if !slices.Equal(values[name], w) {
				t.Errorf("%s: %v, not %v", name, values[name], w)
			}
		}
	}
	for _, name := range []string{"polars.arrow", "polars.arrows", "polars-lz4.arrow", "polars.parquet"} {
		t.Run(name, func(t *testing.T) { check(t, read(t, b, filepath.Join("testdata", name)), nil) })
	}
	t.Run("mapped", func(t *testing.T) {
		mapped, err := storage.MapIPC(ctx, b, storage.IPC("testdata/polars.arrow"), nil)
		if !b.Device.Place().HostAccessible() {
			wantError(t, err, device.ErrUnsupported)
			return
		}
		check(t, mapped, err)
		path := filepath.Join(t.TempDir(), "views.arrow")
		writeIPC(t, path, arrow.BinaryTypes.StringView, `["a", null, "text that is longer than twelve bytes"]`)
		got, err := storage.MapIPC(ctx, b, storage.IPC(path), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Release()
		if v, w := columnsOf(t, got)["c"], []string{`["a"]`, `[null]`, want["text"][1]}; !slices.Equal(v, w) {
			t.Errorf("%v, not %v", v, w)
		}
	})
	t.Run("filtered", func(t *testing.T) {
		got, err := storage.ScanIPC("testdata/polars.arrow").On(b).Filter("text <> 'a'").Select("category", "text").Collect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Release()
		if v := columnsOf(t, got); !slices.Equal(v["category"], []string{want["category"][1], `[null]`}) {
			t.Errorf("%v", v)
		}
	})
}

// TestRowGroupsWithoutRows reads what pyarrow 26 writes of tables without rows:
// row groups whose columns have no place in the file.
func TestRowGroupsWithoutRows(t *testing.T) {
	ctx := context.Background()
	b := backend(t)
	for name, rows := range map[string]int64{"no-rows.parquet": 0, "no-rows-plain.parquet": 0, "no-rows-between.parquet": 2} {
		path := filepath.Join("testdata", name)
		got := read(t, b, path)
		if got.NumRows() != rows || got.NumColumns() != 3 {
			t.Errorf("%s: %d rows of %d columns", name, got.NumRows(), got.NumColumns())
		}
		got.Release()
		filtered, err := storage.ScanParquet(path).On(b).Filter("a > 1").Collect(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if want := rows / 2; filtered.NumRows() != want {
			t.Errorf("%s: %d rows", name, filtered.NumRows())
		}
		filtered.Release()
		if _, _, err := storage.Parquet(path).Skipped(ctx, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestParquetOfNullListsWithItems writes lists whose nulls have items, which
// arrow-go refuses.
func TestParquetOfNullListsWithItems(t *testing.T) {
	ctx := context.Background()
	b := backend(t)
	for _, c := range []struct {
		t              arrow.DataType
		values, noRows string
	}{
		{arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Int32), `[[1, 2], null, [3, null], [5, 6], null, null, [7, 8]]`, `[null, null]`},
		{arrow.FixedSizeListOf(1, arrow.FixedSizeListOf(2, arrow.BinaryTypes.String)), `[[["a", "b"]], null, [null], [["c", null]]]`, `[]`},
	} {
		for _, values := range []string{c.values, c.noRows} {
			path := filepath.Join(t.TempDir(), "lists")
			writeIPC(t, path+".arrow", c.t, values)
			given := read(t, b, path+".arrow")
			for _, start := range []int64{0, min(1, given.NumRows())} {
				w, err := given.Query().Slice(start, given.NumRows()-start).Collect(ctx)
				if err != nil {
					t.Fatal(err)
				}
				if err := storage.WriteParquet(ctx, w, path+".parquet", storage.ParquetOptions{}); err != nil {
					t.Fatal(err)
				}
				got := read(t, b, path+".parquet")
				if a, e := columnsOf(t, got)["c"], columnsOf(t, w)["c"]; !slices.Equal(a, e) {
					t.Errorf("%v, not %v", a, e)
				}
				got.Release()
				w.Release()
			}
			given.Release()
		}
	}
}

// TestOnePathInErrors has the file's name once in what is said of it.
func TestOnePathInErrors(t *testing.T) {
	path := file(t, "cut.parquet", []byte("PAR1 and no footer"))
	_, err := storage.ScanParquet(path).On(backend(t)).Collect(context.Background())
	wantError(t, err, storage.ErrFormat, path)
	if got, twice := err.Error(), path+": "+path; len(got) > len(twice) && got[:len(twice)] == twice {
		t.Error(err)
	}
}
