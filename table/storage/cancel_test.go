package storage_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// TestCancelRead ends the context after the first batch of each format.
func TestCancelRead(t *testing.T) {
	b := backend(t)
	big := repeated(t, b)
	defer big.Release()
	dir := t.TempDir()
	for _, name := range []string{"big.parquet", "big.csv", "big.arrow", "big.arrows"} {
		path := filepath.Join(dir, name)
		if err := storage.Write(context.Background(), big, path); err != nil {
			t.Fatal(err)
		}
		s, err := storage.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		r, err := s.Scan(ctx, b, table.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		first, err := r.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		first.Release()
		cancel()
		for {
			var rest *table.Batch
			if rest, err = r.Next(ctx); err != nil {
				break
			}
			rest.Release()
		}
		wantError(t, err, device.ErrCanceled, path)
		wantError(t, err, context.Canceled)
		if _, again := r.Next(context.Background()); again == nil || errors.Is(again, io.EOF) {
			t.Errorf("%s: after an error Next gives %v", name, again)
		}
		for range 2 {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		_, err = storage.Read(ctx, b, s, storage.ReadOptions{})
		wantError(t, err, device.ErrCanceled, path)
	}
}

// TestCloseEarly leaves readers before, in and after their rows.
func TestCloseEarly(t *testing.T) {
	b := backend(t)
	for _, take := range []int{0, 1, 5} {
		r, err := storage.Parquet(flights).Scan(context.Background(), b, table.ScanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range take {
			c, err := r.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			c.Release()
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		_, err = r.Next(context.Background())
		wantError(t, err, device.ErrClosed, flights)
	}
}

// TestDeadlineRead lets a deadline pass while the reader works: the first that it does not meet.
func TestDeadlineRead(t *testing.T) {
	b := backend(t)
	for wait := 5 * time.Millisecond; ; wait /= 2 {
		ctx, cancel := context.WithTimeout(context.Background(), wait)
		read, err := storage.ReadParquet(ctx, b, flights, storage.ReadOptions{})
		cancel()
		if err == nil {
			read.Release()
			continue
		}
		wantError(t, err, device.ErrCanceled, flights)
		wantError(t, err, context.DeadlineExceeded)
		return
	}
}

// after is a writer that cancels a context once it has been given n bytes.
type after struct {
	n      int
	cancel func()
}

func (a *after) Write(p []byte) (int, error) {
	if a.n -= len(p); a.n < 0 {
		a.cancel()
	}
	return len(p), nil
}

// TestCancelWrite ends the context in the middle of writing.
func TestCancelWrite(t *testing.T) {
	b := backend(t)
	big := repeated(t, b)
	defer big.Release()
	for name, write := range map[string]func(context.Context, io.Writer) error{
		"parquet": func(ctx context.Context, w io.Writer) error {
			return storage.WriteParquetTo(ctx, big, w, storage.ParquetOptions{RowGroupRows: 10_000})
		},
		"csv": func(ctx context.Context, w io.Writer) error {
			return storage.WriteCSVTo(ctx, big, w, storage.CSVWriteOptions{})
		},
		"arrow": func(ctx context.Context, w io.Writer) error {
			return storage.WriteIPCTo(ctx, big, w, storage.IPCOptions{})
		},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		err := write(ctx, &after{200_000, cancel})
		wantError(t, err, device.ErrCanceled, name)
		wantError(t, err, context.Canceled)
		cancel()
	}
}

// TestWriteFails leaves the file that was there before, and no other.
func TestWriteFails(t *testing.T) {
	b := backend(t)
	good := read(t, b, airports)
	defer good.Release()
	dir := t.TempDir()
	path := filepath.Join(dir, "kept.parquet")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wantError(t, storage.Write(ctx, good, path), device.ErrCanceled, path)
	wantError(t, storage.WriteParquet(context.Background(), good, path, storage.ParquetOptions{Compression: storage.CompressionLZ4}), device.ErrUnsupported, path, "lz4")
	broken := file(t, "broken.csv", []byte("a,b\n"+strings.Repeat("1,2\n", 500_000)+"oops\n"))
	_, err := storage.Convert(context.Background(), b, storage.CSV(storage.CSVOptions{}, broken), path, "")
	wantError(t, err, storage.ErrFormat, broken, "line 500002")
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if now, err := os.ReadFile(path); err != nil || string(now) != "before" {
		t.Errorf("the file holds %q, %v", now, err)
	}
	wantError(t, storage.Write(context.Background(), good, filepath.Join(dir, "no", "folder.csv")), device.ErrUnavailable, "folder.csv")
}
