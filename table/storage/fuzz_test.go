package storage_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table/storage"
)

// fuzzLimit bounds the memory of one fuzzed read.
const fuzzLimit = 256 << 20

// seeds adds small files of a format to the corpus.
func seeds(f *testing.F, match func(name string) bool) {
	f.Helper()
	b, err := cpu.New(host.New())
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { b.Close() })
	small := tableOf(f, b, 11, append(append([]arrow.DataType{}, parquetToo...), texts), 0.2, 5, 9)
	defer small.Release()
	ctx := context.Background()
	var buf bytes.Buffer
	add := func(name string, err error) {
		if err != nil {
			f.Fatal(err)
		}
		if match(name) {
			f.Add(bytes.Clone(buf.Bytes()))
		}
		buf.Reset()
	}
	add("parquet", storage.WriteParquetTo(ctx, small, &buf, storage.ParquetOptions{}))
	add("parquet", storage.WriteParquetTo(ctx, small, &buf, storage.ParquetOptions{Compression: storage.CompressionZstd, RowGroupRows: 6}))
	add("parquet", storage.WriteParquetTo(ctx, small, &buf, storage.ParquetOptions{Compression: storage.CompressionNone}))
	add("arrow", storage.WriteIPCTo(ctx, small, &buf, storage.IPCOptions{}))
	add("arrow", storage.WriteIPCTo(ctx, small, &buf, storage.IPCOptions{Compression: storage.CompressionLZ4}))
	add("arrow", storage.WriteIPCTo(ctx, small, &buf, storage.IPCOptions{Stream: true}))
	add("arrow", storage.WriteIPCTo(ctx, small, &buf, storage.IPCOptions{Stream: true, Compression: storage.CompressionZstd}))
}

// readBytes reads a file of those bytes within bounds and checks that nothing
// is kept and that an error names the file.
func readBytes(t *testing.T, content []byte, name string) {
	t.Helper()
	counted := memory.NewCounted(memory.NewLimited(memory.Heap, fuzzLimit))
	b, err := cpu.New(host.New(host.WithAllocator(counted)))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if tryRead(t, b, path, name) && len(content) == 0 {
		t.Error("an empty file was read")
	}
	if err := errors.Join(b.Close(), counted.Check()); err != nil {
		t.Error(err)
	}
}

func FuzzParquet(f *testing.F) {
	seeds(f, func(name string) bool { return name == "parquet" })
	f.Fuzz(func(t *testing.T, content []byte) { readBytes(t, content, "fuzz.parquet") })
}

// FuzzIPC fuzzes files and streams: which it is stands in the first bytes.
func FuzzIPC(f *testing.F) {
	seeds(f, func(name string) bool { return name == "arrow" })
	f.Fuzz(func(t *testing.T, content []byte) { readBytes(t, content, "fuzz.arrow") })
}

// FuzzCSV reads a text strictly and leniently. What is read strictly must be
// the same when it is written and read again.
func FuzzCSV(f *testing.F) {
	for _, s := range []string{"a,b\n1,x\n2,y\n", "a,b\r\n\"1\",\"x\"\"y\"\r\n", "\ufeffa\n\n1\n", "a;b\n1;2001-02-28T10:00:00Z\n", "a,b\n1\n", "a,b\n1,\"x\n", "a,b\n1,x\"y\n", "t,f\n2001-02-28 10:00:00.5,-1e300\n,NaN\n", "\"\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		readBytes(t, content, "fuzz.csv")
		b := backend(t)
		path := file(t, "fuzz.csv", content)
		ctx := context.Background()
		var report storage.CSVReport
		lenient, err := storage.ReadCSV(ctx, b, path, storage.CSVOptions{Lenient: true, Report: &report}, storage.ReadOptions{})
		if err == nil {
			defer lenient.Release()
		}
		strict, err := storage.ReadCSV(ctx, b, path, storage.CSVOptions{}, storage.ReadOptions{})
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		defer strict.Release()
		if lenient == nil || report.Skipped() != 0 {
			t.Fatalf("%d records left out of a text that is read strictly: %v", report.Skipped(), report.Errors())
		}
		same(t, lenient, strict)
		var again bytes.Buffer
		if err := storage.WriteCSVTo(ctx, strict, &again, storage.CSVWriteOptions{}); err != nil {
			t.Fatal(err)
		}
		types := map[string]arrow.DataType{}
		for _, field := range strict.Schema().Fields() {
			types[field.Name] = field.Type
		}
		second, err := storage.ReadCSV(ctx, b, file(t, "again.csv", again.Bytes()), storage.CSVOptions{Types: types}, storage.ReadOptions{})
		if err != nil {
			t.Fatalf("what was written is not read: %v\n%q", err, again.Bytes())
		}
		defer second.Release()
		same(t, second, strict)
	})
}
