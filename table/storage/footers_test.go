package storage

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/table"
)

// TestFooters: the footer of a file is decoded once while the file stays what it was, and
// anew when it has another size, another time, or is another file.
func TestFooters(t *testing.T) {
	b, err := cpu.New(host.New())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	path, beside := filepath.Join(t.TempDir(), "x.parquet"), filepath.Join(t.TempDir(), "y.parquet")
	write := func(path string, rows int, when time.Time) {
		t.Helper()
		all, err := table.New(b, table.Column("x", make([]int64, rows)))
		if err != nil {
			t.Fatal(err)
		}
		defer all.Release()
		if err := WriteParquet(context.Background(), all, path, ParquetOptions{RowGroupRows: 10}); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *parquetFile {
		t.Helper()
		f, err := openParquet(path, ParquetReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f.close()
		return f
	}
	old := time.Now().Add(-time.Hour)
	write(path, 20, old)
	first := open()
	if again := open(); again.meta != first.meta || again.schema != first.schema || again.size != first.size {
		t.Error("a footer was decoded twice")
	}
	write(path, 20, old.Add(time.Second))
	second := open()
	if second.meta == first.meta {
		t.Error("a file of another time has the footer of before")
	}
	write(path, 30, old.Add(time.Second))
	if third := open(); third.meta.NumRows != 30 {
		t.Errorf("a file of another size has %d rows", third.meta.NumRows)
	}
	write(beside, 30, old.Add(time.Second)) // of the same size and time
	before := open()
	if err := os.Rename(beside, path); err != nil {
		t.Fatal(err)
	}
	if after := open(); after.meta == before.meta {
		t.Error("a file in another's place has its footer")
	}
	write(path, 30, time.Now())
	if fresh := open(); open().meta == fresh.meta {
		t.Error("the footer of a file that was written just now is kept: a change in the same moment would not show")
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := openParquet(path, ParquetReadOptions{}); err == nil {
		t.Error("a file that was cut short opens")
	}
}

// TestFootersAreFew: of footers those used last are kept, up to a number of bytes.
func TestFootersAreFew(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	f := newFooters(100)
	for name, bytes := range map[string]int64{"a": 40, "b": 40} {
		f.put(&footer{path: name, info: info, bytes: bytes})
	}
	f.get("a", info)
	f.put(&footer{path: "c", info: info, bytes: 50})
	f.put(&footer{path: "large", info: info, bytes: 101})
	f.put(&footer{path: "c", info: info, bytes: 55})
	for name, want := range map[string]bool{"a": true, "b": false, "c": true, "large": false} {
		if got := f.get(name, info) != nil; got != want {
			t.Errorf("%s is kept: %t", name, got)
		}
	}
	if f.bytes != 95 || f.last.Len() != 2 || len(f.of) != 2 {
		t.Errorf("%d bytes of %d footers, %d paths", f.bytes, f.last.Len(), len(f.of))
	}
}
