package storage_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// samples are small files of every format: the airports, and random columns of
// every type.
func samples(t testing.TB, b *kernels.Backend) []string {
	t.Helper()
	ctx := context.Background()
	dir := t.TempDir()
	real := read(t, b, airports)
	defer real.Release()
	types := append(append([]arrow.DataType{}, parquetToo...), texts)
	random := tableOf(t, b, 7, types, 0.2, 70, 300)
	defer random.Release()
	var paths []string
	add := func(name string, write func(path string) error) {
		path := filepath.Join(dir, name)
		if err := write(path); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	for name, w := range map[string]*table.Table{"airports": real, "random": random} {
		add(name+"-snappy.parquet", func(p string) error {
			return storage.WriteParquet(ctx, w, p, storage.ParquetOptions{RowGroupRows: 1000})
		})
		add(name+"-zstd.parquet", func(p string) error {
			return storage.WriteParquet(ctx, w, p, storage.ParquetOptions{Compression: storage.CompressionZstd})
		})
		add(name+"-none.parquet", func(p string) error {
			return storage.WriteParquet(ctx, w, p, storage.ParquetOptions{Compression: storage.CompressionNone})
		})
		add(name+".arrow", func(p string) error { return storage.WriteIPC(ctx, w, p, storage.IPCOptions{}) })
		add(name+"-zstd.arrow", func(p string) error {
			return storage.WriteIPC(ctx, w, p, storage.IPCOptions{Compression: storage.CompressionZstd})
		})
		add(name+".arrows", func(p string) error { return storage.WriteIPC(ctx, w, p, storage.IPCOptions{Stream: true}) })
		add(name+"-lz4.arrows", func(p string) error {
			return storage.WriteIPC(ctx, w, p, storage.IPCOptions{Stream: true, Compression: storage.CompressionLZ4})
		})
	}
	add("airports.csv", func(p string) error { return storage.WriteCSV(ctx, real, p, storage.CSVWriteOptions{}) })
	return paths
}

// tryRead reads a file that may be damaged. It must give a well-formed table
// or an error that names the file, and not take memory beyond its measure.
func tryRead(t testing.TB, b *kernels.Backend, path, what string) (ok bool) {
	t.Helper()
	s, err := storage.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got, err := storage.Read(context.Background(), b, s, storage.ReadOptions{})
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<30 {
		t.Errorf("%s: reading took %d bytes", what, n)
	}
	if err != nil {
		if !strings.Contains(err.Error(), path) {
			t.Errorf("%s: the error does not name the file: %v", what, err)
		}
		return false
	}
	defer got.Release()
	for _, c := range got.Chunks() {
		for i := range c.NumColumns() {
			if err := c.Column(i).Validate(); err != nil {
				t.Errorf("%s: column %d: %v", what, i, err)
			}
		}
	}
	return true
}

func TestMissing(t *testing.T) {
	b := backend(t)
	for _, name := range []string{"missing.parquet", "missing.csv", "missing.arrow", "no*match.parquet"} {
		path := filepath.Join(t.TempDir(), name)
		s, err := storage.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = storage.Read(context.Background(), b, s, storage.ReadOptions{})
		wantError(t, err, device.ErrUnavailable, path)
		wantError(t, err, fs.ErrNotExist)
	}
	_, err := storage.Open("table.xlsx")
	wantError(t, err, device.ErrUnsupported, "table.xlsx", ".parquet")
	dir := filepath.Join(t.TempDir(), "folder.parquet")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	_, err = storage.ReadParquet(context.Background(), b, dir, storage.ReadOptions{})
	wantError(t, err, device.ErrUnavailable, dir, "directory")
}

func TestEmpty(t *testing.T) {
	b := backend(t)
	for _, name := range []string{"empty.parquet", "empty.csv", "empty.arrow", "empty.arrows"} {
		path := file(t, name, nil)
		s, err := storage.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = storage.Read(context.Background(), b, s, storage.ReadOptions{})
		wantError(t, err, storage.ErrFormat, path, "empty")
	}
}

// TestTruncated cuts files short. But for a text, which may end anywhere, and
// the end mark of a stream, all of a file is needed.
func TestTruncated(t *testing.T) {
	b := backend(t)
	for _, sample := range samples(t, b) {
		whole, err := os.ReadFile(sample)
		if err != nil {
			t.Fatal(err)
		}
		path := file(t, "cut-"+filepath.Base(sample), nil)
		lossy := strings.HasSuffix(path, ".csv") || strings.HasSuffix(path, ".arrows")
		for k := range 30 {
			n := len(whole) * k / 30
			if k%2 == 1 {
				n = len(whole) - k
			}
			if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
				t.Fatal(err)
			}
			if tryRead(t, b, path, fmt.Sprintf("%s cut to %d of %d", sample, n, len(whole))) && !lossy {
				t.Errorf("%s cut to %d of %d bytes was read", sample, n, len(whole))
			}
		}
	}
}

// flip changes one bit of a file, reads it, and changes it back.
func flip(t testing.TB, b *kernels.Backend, path string, whole []byte, bit int) bool {
	t.Helper()
	damaged := append([]byte(nil), whole...)
	damaged[bit/8] ^= 1 << (bit % 8)
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	return tryRead(t, b, path, fmt.Sprintf("%s with bit %d flipped", filepath.Base(path), bit))
}

// TestFlips flips bits of small files, half of them in the last and first
// parts, where there is more to break than values.
func TestFlips(t *testing.T) {
	const seed = 20010101
	b := backend(t)
	r := rand.New(rand.NewPCG(seed, 2))
	n := 80
	if testing.Short() {
		n = 16
	}
	for _, sample := range samples(t, b) {
		whole, err := os.ReadFile(sample)
		if err != nil {
			t.Fatal(err)
		}
		path := file(t, "flipped-"+filepath.Base(sample), nil)
		refused := 0
		for k := range n {
			bit := r.IntN(8 * len(whole))
			switch edge := min(4096, len(whole)); k % 4 {
			case 0:
				bit = 8*len(whole) - 1 - r.IntN(8*edge)
			case 1:
				bit = r.IntN(8 * edge)
			}
			if !flip(t, b, path, whole, bit) {
				refused++
			}
		}
		t.Logf("%s: %d of %d flips (seed %d) were refused", filepath.Base(sample), refused, n, seed)
		if refused == 0 {
			t.Errorf("%s: no flip was noticed", sample)
		}
	}
}

// TestFlipsFlights flips bits of the real file.
func TestFlipsFlights(t *testing.T) {
	const seed = 20010102
	b := backend(t)
	r := rand.New(rand.NewPCG(seed, 3))
	whole, err := os.ReadFile(flights)
	if err != nil {
		t.Fatal(err)
	}
	path := file(t, "flights.parquet", nil)
	n := 24
	if testing.Short() {
		n = 8
	}
	for k := range n {
		bit := r.IntN(8 * len(whole))
		if k%2 == 0 {
			bit = 8*len(whole) - 1 - r.IntN(8*8192)
		}
		flip(t, b, path, whole, bit)
	}
}

// TestMemoryLimit reads with too little memory: an error that says so, and
// nothing is kept.
func TestMemoryLimit(t *testing.T) {
	for _, path := range []string{flights, airports} {
		for _, limit := range []int64{0, 1000, 100_000} {
			b := backendOn(t, func(a memory.Allocator) memory.Allocator { return memory.NewLimited(a, limit) })
			s, err := storage.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = storage.Read(context.Background(), b, s, storage.ReadOptions{})
			wantError(t, err, device.ErrOutOfMemory, path)
		}
	}
	roomy := backend(t)
	for _, path := range samples(t, roomy) {
		b := backendOn(t, func(a memory.Allocator) memory.Allocator { return memory.NewLimited(a, 3000) })
		s, err := storage.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = storage.Read(context.Background(), b, s, storage.ReadOptions{})
		wantError(t, err, device.ErrOutOfMemory, path)
	}
}

func TestUnknownColumn(t *testing.T) {
	b := backend(t)
	for _, path := range samples(t, b) {
		if !strings.HasPrefix(filepath.Base(path), "airports") {
			continue
		}
		s, err := storage.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = storage.Read(context.Background(), b, s, storage.ReadOptions{Columns: []string{"city", "latitud"}})
		wantError(t, err, device.ErrMismatch, path, `"latitud"`, `near it: "latitude"`)
		var own *storage.Error
		if !errors.As(err, &own) || own.Name != "latitud" || own.Path != path {
			t.Errorf("not an Error of the column: %#v", err)
		}
	}
}
