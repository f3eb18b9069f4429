package storage

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
)

// countedFile is a file whose reads are counted.
type countedFile struct {
	io.ReaderAt
	reads, bytes atomic.Int64
}

func (f *countedFile) ReadAt(p []byte, off int64) (int, error) {
	f.reads.Add(1)
	f.bytes.Add(int64(len(p)))
	return f.ReaderAt.ReadAt(p, off)
}

// TestPieceRead: Fetch reads all that decoding needs, in a few calls, and decoding reads
// nothing then: of Parquet as columns, as words, and of lists, of Arrow IPC and of CSV.
// Without Fetch the values are the same. All memory comes back.
func TestPieceRead(t *testing.T) {
	counted := memory.NewTraced(memory.Heap)
	b, err := cpu.New(host.New(host.WithAllocator(counted)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, dir := context.Background(), t.TempDir()
	x, y := make([]float32, 3000), make([]string, 3000)
	for i := range x {
		x[i], y[i] = float32(i%100), fmt.Sprint("v", i%17)
	}
	all, err := table.New(b, table.Column("x", x), table.Column("y", y))
	if err != nil {
		t.Fatal(err)
	}
	parquet, arrows, csv := filepath.Join(dir, "x.parquet"), filepath.Join(dir, "x.arrow"), filepath.Join(dir, "x.csv")
	if err := WriteParquet(ctx, all, parquet, ParquetOptions{RowGroupRows: 700, Compression: CompressionZstd}); err != nil {
		t.Fatal(err)
	}
	if err := WriteIPC(ctx, all, arrows, IPCOptions{Compression: CompressionZstd}); err != nil {
		t.Fatal(err)
	}
	all.Release()
	text := bytes.NewBufferString("x,y\n")
	for i := range x {
		fmt.Fprintf(text, "%v,%s\n", x[i], y[i])
	}
	if err := os.WriteFile(csv, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		of      table.Source
		columns []string
	}{
		"parquet": {Parquet(parquet), []string{"x", "y"}}, "words": {Parquet(parquet), []string{"x"}}, "texts": {Parquet(parquet), []string{"y"}},
		"lists": {Parquet("testdata/sums-lists.parquet"), []string{"l", "n"}}, "apart": {Parquet("testdata/sums-lists.parquet"), []string{"a", "n"}},
		"ipc": {IPC(arrows), []string{"x", "y"}}, "csv": {CSV(CSVOptions{}, csv), []string{"y"}},
	} {
		p, err := OpenPieces(ctx, b, c.of)
		if err != nil {
			t.Fatal(err)
		}
		file := &countedFile{ReaderAt: p.files[0].in.file}
		p.files[0].in.at = file
		for i := range p.Len() {
			r, err := p.Begin(i, c.columns)
			if err != nil {
				t.Fatal(err)
			}
			before := file.bytes.Load()
			r.Fetch(ctx)
			if n := file.bytes.Load() - before; n == 0 || n != r.Size() {
				t.Errorf("%s: %d bytes were read, and %d are said", name, n, r.Size())
			}
			reads := file.reads.Load()
			if name == "words" {
				group, err := r.OpenWords(ctx, []arrow.DataType{arrow.PrimitiveTypes.Float32})
				if err != nil || group == nil {
					t.Fatal(group, err)
				}
				group.Close()
			}
			got, err := r.Read(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if n := file.reads.Load() - reads; n != 0 {
				t.Errorf("%s: decoding piece %d read %d times", name, i, n)
			}
			r.Close()
			if n := len(p.files[0].in.kept.of); n != 0 {
				t.Errorf("%s: %d stretches are kept", name, n)
			}
			want, err := p.Read(ctx, i, c.columns)
			if err != nil {
				t.Fatal(err)
			}
			if file.reads.Load() == reads {
				t.Errorf("%s: piece %d was not read", name, i)
			}
			if x, y := asText(t, b, got), asText(t, b, want); x != y || len(x) < 100 {
				t.Errorf("%s: piece %d: %s and not %s", name, i, x, y)
			}
		}
		p.Close()
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if err := counted.Check(); err != nil {
		t.Error(err)
	}
}

// asText is the values of batches, which it releases.
func asText(t *testing.T, b *kernels.Backend, batches []*table.Batch) (text string) {
	t.Helper()
	all, err := table.NewTable(b, batches[0].Schema(), batches)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Release()
	records, err := all.ToRecords()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		for _, c := range r.Columns() {
			text += fmt.Sprintln(c)
		}
		r.Release()
	}
	return text
}

// TestTogether joins what lies near.
func TestTogether(t *testing.T) {
	for _, c := range []struct{ of, want []span }{
		{nil, nil},
		{[]span{{4, 100}, {104, 50}}, []span{{4, 150}}},
		{[]span{{4, 100}, {204, 50}}, []span{{4, 100}, {204, 50}}}, // more than a quarter
		{[]span{{4, 400}, {500, 400}, {950, 10}}, []span{{4, 956}}},
		{[]span{{4, 1 << 20}, {1<<20 + 4 + largestGap, 1}}, []span{{4, 1<<20 + largestGap + 1}}},
		{[]span{{4, 1 << 20}, {1<<20 + 5 + largestGap, 1}}, []span{{4, 1 << 20}, {1<<20 + 5 + largestGap, 1}}},
	} {
		if got := together(c.of); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%v becomes %v", c.of, got)
		}
	}
	f := &fetched{[]span{{10, 4}, {20, 2}}, []byte("abcdef")}
	for at, want := range map[int64]string{10: "ab", 12: "cd", 20: "ef", 13: "", 19: "", 21: "", 9: ""} {
		if got := string(f.bytes(at, 2)); got != want {
			t.Errorf("two bytes at %d are %q", at, got)
		}
	}
}

// TestFingerprintOfFooter: a Parquet file of other values is another, also where its size and
// time are as before.
func TestFingerprintOfFooter(t *testing.T) {
	b, err := cpu.New(host.New())
	if err != nil {
		t.Fatal(err)
	}
	ctx, path := context.Background(), filepath.Join(t.TempDir(), "x.parquet")
	var sums []uint32
	var sizes []int64
	for _, values := range [][]int32{{1, 2, 3}, {1, 2, 4}, {1, 2, 3}} {
		x, err := table.New(b, table.Column("x", values))
		if err != nil {
			t.Fatal(err)
		}
		err = WriteParquet(ctx, x, path, ParquetOptions{})
		x.Release()
		if err == nil {
			err = os.Chtimes(path, time.Unix(1e9, 0), time.Unix(1e9, 0))
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := OpenPieces(ctx, b, Parquet(path))
		if err != nil {
			t.Fatal(err)
		}
		sums, sizes = append(sums, p.Fingerprint()), append(sizes, p.files[0].info.Size())
		p.Close()
	}
	if sizes[0] != sizes[1] || sums[0] == sums[1] || sums[0] != sums[2] {
		t.Errorf("files of %v bytes have the fingerprints %v", sizes, sums)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
