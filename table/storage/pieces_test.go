package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// counting is a table of whole numbers and texts.
func counting(t testing.TB, b *kernels.Backend, rows int) *table.Table {
	t.Helper()
	n, s := make([]int64, rows), make([]string, rows)
	for i := range n {
		n[i], s[i] = int64(i), string(rune('a'+i%26))+"\n,\"x\""
	}
	one, err := table.New(b, table.Column("n", n), table.Column("s", s))
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// inPieces opens a file of the counting table in pieces; nil on a device that
// pieces cannot be read to, which is an error there.
func inPieces(t testing.TB, b *kernels.Backend, path string) *storage.Pieces {
	t.Helper()
	s, err := storage.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := storage.OpenPieces(context.Background(), b, s)
	if !b.Device.Place().HostAccessible() {
		wantError(t, err, device.ErrUnsupported, "onto the host")
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPieces reads every piece of every format, from the last to the first.
func TestPieces(t *testing.T) {
	ctx, b := context.Background(), backend(t)
	const rows = 300_000
	all := counting(t, b, rows)
	defer all.Release()
	dir := t.TempDir()
	for name, write := range map[string]func(path string) error{
		"x.parquet": func(path string) error {
			return storage.WriteParquet(ctx, all, path, storage.ParquetOptions{RowGroupRows: 70_000})
		},
		"x.arrow": func(path string) error { return storage.WriteIPC(ctx, all, path, storage.IPCOptions{}) },
		"z.arrow": func(path string) error {
			return storage.WriteIPC(ctx, all, path, storage.IPCOptions{Compression: storage.CompressionLZ4})
		},
		"x.csv": func(path string) error { return storage.WriteCSV(ctx, all, path, storage.CSVWriteOptions{}) },
		"b.csv": func(path string) error {
			var text bytes.Buffer
			text.WriteString("\ufeff\n\n")
			err := storage.WriteCSVTo(ctx, all, &text, storage.CSVWriteOptions{})
			return errors.Join(err, os.WriteFile(path, text.Bytes(), 0o600))
		},
	} {
		path := filepath.Join(dir, name)
		if err := write(path); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := inPieces(t, b, path)
		if p == nil {
			return
		}
		total := int64(0)
		starts := make([]int64, p.Len())
		for i := range starts {
			starts[i], total = total, total+p.Rows(i)
		}
		if total != rows || p.Len() < 2 && filepath.Ext(name) != ".arrow" {
			t.Errorf("%s: %d rows in %d pieces", name, total, p.Len())
		}
		for i := p.Len() - 1; i >= 0; i-- {
			batches, err := p.Read(ctx, i, []string{"n"})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			part, err := table.NewTable(b, batches[0].Schema(), batches)
			if err != nil {
				t.Fatal(err)
			}
			n, err := table.Values[int64](part, "n")
			if err != nil || int64(len(n)) != p.Rows(i) || n[0] != starts[i] || n[len(n)-1] != starts[i]+p.Rows(i)-1 {
				t.Errorf("%s: piece %d begins with %d: %v", name, i, n[0], err)
			}
			part.Release()
		}
		if err := p.Check(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		was := p.Fingerprint()
		if err := os.Chtimes(path, time.Time{}, time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		wantError(t, p.Check(ctx), device.ErrMismatch, name, "was written")
		if err := os.Truncate(path, 100); err != nil {
			t.Fatal(err)
		}
		wantError(t, p.Check(ctx), device.ErrMismatch, name, "it has 100 bytes")
		if _, err := p.Read(ctx, p.Len()-1, nil); !errors.Is(err, storage.ErrFormat) {
			t.Errorf("%s, cut off: %v", name, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		wantError(t, p.Check(ctx), device.ErrMismatch, name, "gone")
		p.Close()
		if err := write(path); err != nil {
			t.Fatal(err)
		}
		again := inPieces(t, b, path)
		if again.Fingerprint() == was {
			t.Errorf("%s: a file written anew has the old fingerprint", name)
		}
		again.Close()
		again.Close()
	}
}

// TestMapIPC uses a file where it lies, after it was unlinked too.
func TestMapIPC(t *testing.T) {
	ctx, b := context.Background(), backend(t)
	all := counting(t, b, 100_000)
	defer all.Release()
	path, packed := filepath.Join(t.TempDir(), "x.arrow"), filepath.Join(t.TempDir(), "z.arrow")
	if err := errors.Join(storage.WriteIPC(ctx, all, path, storage.IPCOptions{}),
		storage.WriteIPC(ctx, all, packed, storage.IPCOptions{Compression: storage.CompressionZstd})); err != nil {
		t.Fatal(err)
	}
	mapped, err := storage.MapIPC(ctx, b, storage.IPC(path), []string{"n"})
	if !b.Device.Place().HostAccessible() {
		wantError(t, err, device.ErrUnsupported)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	n, err := table.Values[int64](mapped, "n")
	if err != nil || len(n) != 100_000 || n[77_777] != 77_777 {
		t.Errorf("%d values: %v", len(n), err)
	}
	mapped.Release()
	_, err = storage.MapIPC(ctx, b, storage.IPC(packed), nil)
	wantError(t, err, device.ErrUnsupported, "is compressed")
	_, err = storage.MapIPC(ctx, b, storage.IPC(airports), nil)
	wantError(t, err, storage.ErrFormat, "airports")
	_, err = storage.MapIPC(ctx, b, storage.IPC(filepath.Join(t.TempDir(), "none")), nil)
	wantError(t, err, device.ErrUnavailable, "none")
}

// TestFolder is about what is in it.
func TestFolder(t *testing.T) {
	ctx, b := context.Background(), backend(t)
	all := counting(t, b, 100)
	defer all.Release()
	dir := t.TempDir()
	_, err := storage.Folder(dir)
	wantError(t, err, device.ErrMismatch, "no files")
	for _, name := range []string{"b.parquet", "a.parquet"} {
		if err := storage.WriteParquet(ctx, all, filepath.Join(dir, name), storage.ParquetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"_SUCCESS", ".crc"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := storage.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	both, err := storage.Read(ctx, b, s, storage.ReadOptions{})
	if err != nil || both.NumRows() != 200 {
		t.Fatalf("%v, %v", both, err)
	}
	both.Release()
	if err := storage.WriteIPC(ctx, all, filepath.Join(dir, "c.arrow"), storage.IPCOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = storage.Folder(dir)
	wantError(t, err, device.ErrMismatch, "c.arrow", "a folder of parquet")
	_, err = storage.Folder(filepath.Join(dir, "none"))
	wantError(t, err, device.ErrUnavailable)
}

// TestPiecesOfManyFiles opens files whose footers are read beside each other: pieces come
// in the order of the files, and of several damaged files the first is named.
func TestPiecesOfManyFiles(t *testing.T) {
	ctx, b := context.Background(), backend(t)
	if !b.Device.Place().HostAccessible() {
		return // TestPieces has the error
	}
	dir, paths := t.TempDir(), []string{}
	for i := range 40 {
		one := counting(t, b, 10+i)
		path := filepath.Join(dir, fmt.Sprintf("%02d.parquet", i))
		if err := storage.WriteParquet(ctx, one, path, storage.ParquetOptions{}); err != nil {
			t.Fatal(err)
		}
		one.Release()
		paths = append(paths, path)
	}
	p, err := storage.OpenPieces(ctx, b, storage.Parquet(paths...))
	if err != nil {
		t.Fatal(err)
	}
	if p.Len() != len(paths) {
		t.Fatalf("%d pieces", p.Len())
	}
	for i, path := range paths {
		if at, _ := p.At(i); at != path || p.Rows(i) != int64(10+i) {
			t.Fatalf("piece %d is of %s, %d rows", i, at, p.Rows(i))
		}
	}
	p.Close()
	before := openFiles(t)
	for _, i := range []int{31, 7, 19} {
		if err := os.WriteFile(paths[i], []byte("PAR1 and no more"), 0o666); err != nil {
			t.Fatal(err)
		}
		first := min(i, 7)
		if i == 31 {
			first = 31
		}
		_, err := storage.OpenPieces(ctx, b, storage.Parquet(paths...))
		wantError(t, err, storage.ErrFormat, filepath.Base(paths[first]))
	}
	other, err := table.New(b, table.Column("other", []int64{1}))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Release()
	if err := storage.WriteParquet(ctx, other, paths[3], storage.ParquetOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err = storage.OpenPieces(ctx, b, storage.Parquet(paths[:7]...))
	wantError(t, err, device.ErrMismatch, filepath.Base(paths[3]))
	stopped, stop := context.WithCancel(ctx)
	stop()
	_, err = storage.OpenPieces(stopped, b, storage.Parquet(paths[:7]...))
	wantError(t, err, device.ErrCanceled, "")
	if after := openFiles(t); after > before {
		t.Fatalf("%d files are open, and %d were before", after, before)
	}
}

// openFiles is how many files the process has open, 0 where that is not known.
func openFiles(t testing.TB) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(all)
}
