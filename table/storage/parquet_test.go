package storage_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// TestParquetStructs has a struct beside other columns: those can be read.
func TestParquetStructs(t *testing.T) {
	b := backend(t)
	ctx := context.Background()
	const path = "testdata/structs.parquet" // of testdata/write_pyarrow.py
	_, err := storage.ReadParquet(ctx, b, path, storage.ReadOptions{})
	wantError(t, err, device.ErrUnsupported, path, `"pair"`)
	got, err := storage.ReadParquet(ctx, b, path, storage.ReadOptions{Columns: []string{"id"}})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if got.NumRows() != 20 || got.NumColumns() != 1 {
		t.Errorf("%d rows, %d columns", got.NumRows(), got.NumColumns())
	}
}

// TestNoColumns counts rows without reading any.
func TestNoColumns(t *testing.T) {
	b := backend(t)
	for _, path := range []string{flights, airports} {
		s, err := storage.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Scan(context.Background(), b, table.ScanOptions{Columns: []string{}})
		if err != nil {
			t.Fatal(err)
		}
		rows := int64(0)
		for {
			c, err := r.Next(context.Background())
			if err != nil {
				break
			}
			if c.NumColumns() != 0 {
				t.Errorf("%d columns", c.NumColumns())
			}
			rows += c.Len()
			c.Release()
		}
		if want := map[string]int64{flights: 1_000_000, airports: 3376}[path]; rows != want {
			t.Errorf("%s: %d rows, not %d", path, rows, want)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestManyFiles reads files one behind the other, also with their columns in
// another order.
func TestManyFiles(t *testing.T) {
	b := backend(t)
	dir := t.TempDir()
	first := read(t, b, file(t, "1.csv", []byte("a,b\n1,x\n2,y\n")))
	second := read(t, b, file(t, "2.csv", []byte("b,a\nz,3\n")))
	other := read(t, b, file(t, "3.csv", []byte("b,a\nz,0.5\n")))
	defer first.Release()
	defer second.Release()
	defer other.Release()
	for _, ext := range []string{".parquet", ".arrow", ".arrows"} {
		for name, w := range map[string]*table.Table{"p1": first, "p2": second, "q1": first, "q2": other} {
			if err := storage.Write(context.Background(), w, filepath.Join(dir, name+ext)); err != nil {
				t.Fatal(err)
			}
		}
		got := read(t, b, filepath.Join(dir, "p*"+ext))
		if s, want := rows(t, got), "a:int64[1 2 3]\nb:utf8[\"x\" \"y\" \"z\"]"; s != want {
			t.Errorf("got\n%s\nwant\n%s", s, want)
		}
		got.Release()
		s, err := storage.Open(filepath.Join(dir, "q*"+ext))
		if err != nil {
			t.Fatal(err)
		}
		_, err = storage.Read(context.Background(), b, s, storage.ReadOptions{})
		wantError(t, err, device.ErrMismatch, "q2"+ext, `"a"`, "float64", "int64")
	}
}
