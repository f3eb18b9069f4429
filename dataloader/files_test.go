package dataloader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// written is a table in files of every kind, by a name of how.
func written(t testing.TB, b *kernels.Backend, all *table.Table) map[string]table.Source {
	t.Helper()
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	halves := all.NumRows()/2 + 7
	first, err := all.Query().Head(halves).Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Release()
	second, err := all.Query().Slice(halves, all.NumRows()-halves).Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Release()
	for i, half := range []*table.Table{first, second} {
		if err := errors.Join(
			storage.WriteParquet(ctx, half, path(fmt.Sprint(i, ".parquet")), storage.ParquetOptions{RowGroupRows: 100}),
			storage.WriteIPC(ctx, half, path(fmt.Sprint(i, ".arrow")), storage.IPCOptions{}),
			storage.WriteIPC(ctx, half, path(fmt.Sprint("z", i, ".arrow")), storage.IPCOptions{Compression: storage.CompressionLZ4}),
			storage.WriteCSV(ctx, half, path(fmt.Sprint(i, ".csv")), storage.CSVWriteOptions{}),
		); err != nil {
			t.Fatal(err)
		}
	}
	return map[string]table.Source{
		"parquet": storage.Parquet(path("[01].parquet")), "mapped": storage.IPC(path("[01].arrow")),
		"packed": storage.IPC(path("z[01].arrow")), "csv": storage.CSV(storage.CSVOptions{}, path("[01].csv")),
	}
}

// opened are files that the test closes.
func opened(t testing.TB, b *kernels.Backend, s table.Source, o FileOptions) *Files {
	t.Helper()
	f, err := FromFiles(ctx, b, s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// TestFiles holds files of every format, orders and layouts to give what the
// table in memory gives, with caches of every size.
func TestFiles(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 1003, 5, 100, 700)
	for name, s := range written(t, b, all) {
		for _, cache := range []int64{-1, 10_000, 0} {
			f := opened(t, b, s, FileOptions{Cache: cache})
			if f.NumRows() != 1003 || f.Schema().NumFields() != 5 {
				t.Fatalf("%s: %d rows", name, f.NumRows())
			}
			blocks, err := f.Order(250, 3)
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range []Options{
				{Shuffle: true, Masks: true}, {Order: blocks}, {}, {Layout: ColumnMajor, Shuffle: true, Masks: true}, {Layout: Columns, Order: blocks, Type: arrow.PrimitiveTypes.Float64, Masks: true},
				{Layout: ColumnMajor, Features: []string{"ae", "ab"}, Labels: []string{"ac"}},
			} {
				o.Batch, o.Epochs, o.Seed, o.Workers, o.Memory = 97, 2, 5, i%3-1, a
				same(t, fmt.Sprint(name, cache, i), load(t, f, o), load(t, FromTable(all), o))
			}
		}
	}
}

// same holds two loaders to give the same batches.
func same(t *testing.T, name string, got, want *Loader) {
	t.Helper()
	for ended := 0; ended < 2; {
		x, err := got.Next(ctx)
		y, wrong := want.Next(ctx)
		if err == io.EOF && wrong == io.EOF {
			ended++
			continue
		}
		if err != nil || wrong != nil {
			t.Fatalf("%s: %v, %v", name, err, wrong)
		}
		for i, p := range x.slot.tensors {
			q := y.slot.tensors[i]
			if p.Rows != q.Rows || !slices.Equal(p.Data, q.Data) || !slices.Equal(p.Valid, q.Valid) {
				t.Fatalf("%s: batch %d differs in part %d", name, x.slot.step, i)
			}
		}
		if err := errors.Join(x.Release(), y.Release()); err != nil {
			t.Fatal(err)
		}
	}
}

// damage overwrites the middle of a part of a file.
func damage(t *testing.T, path string, at float64) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		text[int(at*float64(len(text)))+i] ^= 0xa5
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedFile meets row groups that cannot be decoded in the middle of an
// epoch: an error that names them, or what SkipBad leaves out.
func TestDamagedFile(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 4000, 3)
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := storage.WriteParquet(ctx, all, path, storage.ParquetOptions{RowGroupRows: 1000, Compression: storage.CompressionZstd}); err != nil {
		t.Fatal(err)
	}
	damage(t, path, 0.6)
	f := opened(t, b, storage.Parquet(path), FileOptions{})
	for _, workers := range []int{InCaller, 2} {
		l := load(t, f, Options{Batch: 300, Workers: workers, Memory: a})
		given, failed := int64(0), error(nil)
		for failed == nil {
			rows, err := l.Next(ctx)
			if failed = err; err == nil {
				given += rows.slot.n
				if err := rows.Release(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !errors.Is(failed, storage.ErrFormat) || !strings.Contains(failed.Error(), path+": row group ") || given < 900 || given > 2100 {
			t.Errorf("%d workers, after %d rows: %v", workers, given, failed)
		}
		seen := make([]int, 4000)
		l = load(t, f, Options{Batch: 300, Workers: workers, SkipBad: true, Shuffle: true, Size: 2, Rank: 1, Epochs: 1, Memory: a, Remainder: Uneven})
		batches := 0
		for rows, _ := next(t, l); rows != nil; rows, _ = next(t, l) {
			for _, r := range rows {
				seen[r]++
			}
			batches++
		}
		groups := make([]int, 4)
		for i, n := range seen {
			groups[i/1000] += n
			if n > 1 {
				t.Errorf("row %d came %d times", i, n)
			}
		}
		slices.Sort(groups)
		if s := l.Stats(); batches != 7 || groups[0] != 0 || groups[1] < 300 || s.Skipped < 300 || s.Skipped+s.Rows != 2000 {
			t.Errorf("%d batches, rows of the groups %v, %+v", batches, groups, s)
		}
	}
}

// TestFileChanges writes a file anew between two epochs, and between a state and
// its Resume.
func TestFileChanges(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 1003, 2)
	for _, workers := range []int{InCaller, 2} { // of which the second have made batches of the next epoch by then
		fileChanges(t, written(t, b, all), b, Options{Batch: 600, Workers: workers, Memory: a})
	}
}

func fileChanges(t *testing.T, sets map[string]table.Source, b *kernels.Backend, o Options) {
	t.Helper()
	for name, s := range sets {
		f := opened(t, b, s, FileOptions{})
		l := load(t, f, o)
		for range 3 { // the first epoch and its end
			next(t, l)
		}
		state, err := l.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		path, _ := f.pieces.At(0)
		if err := os.Chtimes(path, time.Time{}, time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Next(ctx); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), path+": mismatch: it was written") {
			t.Errorf("%s: %v", name, err)
		}
		again := opened(t, b, s, FileOptions{})
		if _, err := Resume(ctx, again, l.options, state); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "the values") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMappedFileIsCut ends a mapped file under a reader.
func TestMappedFileIsCut(t *testing.T) {
	b, a := onHost(t)
	path := filepath.Join(t.TempDir(), "x.arrow")
	if err := storage.WriteIPC(ctx, numbers(t, b, 100_000, 2), path, storage.IPCOptions{}); err != nil {
		t.Fatal(err)
	}
	f := opened(t, b, storage.IPC(path), FileOptions{})
	l := load(t, f, Options{Batch: 50_000, Workers: InCaller, Spare: -1, Memory: a})
	next(t, l)
	if err := os.Truncate(path, 4096); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Next(ctx); !errors.Is(err, device.ErrLost) || !strings.Contains(err.Error(), "cut short") {
		t.Error(err)
	}
}

// TestFilesRefuse is what FromFiles does not take.
func TestFilesRefuse(t *testing.T) {
	b, a := onHost(t)
	dir := t.TempDir()
	one := numbers(t, b, 10, 2)
	empty, err := one.Query().Head(0).Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer empty.Release()
	none, stream := filepath.Join(dir, "none.parquet"), filepath.Join(dir, "x.arrows")
	if err := errors.Join(storage.WriteParquet(ctx, empty, none, storage.ParquetOptions{}), storage.WriteIPC(ctx, one, stream, storage.IPCOptions{Stream: true})); err != nil {
		t.Fatal(err)
	}
	if _, err := FromFiles(ctx, nil, nil, FileOptions{}); !errors.Is(err, device.ErrMismatch) {
		t.Error(err)
	}
	if _, err := FromFiles(ctx, b, storage.IPC(stream), FileOptions{}); !errors.Is(err, device.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := FromFiles(ctx, b, storage.CSV(storage.CSVOptions{Lenient: true}, "../testdata/flights/airports.csv"), FileOptions{}); !errors.Is(err, device.ErrUnsupported) {
		t.Error(err)
	}
	f := opened(t, b, storage.Parquet(none), FileOptions{})
	if _, err := New(ctx, f, Options{Batch: 1, Memory: a}); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "has no rows") {
		t.Error(err)
	}
	if _, err := New(ctx, FromTable(one), Options{Batch: 1, Order: order.Sequential(11), Memory: a}); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "over 11") {
		t.Error(err)
	}
	if _, err := New(ctx, FromTable(one), Options{Batch: 1, Order: order.Sequential(10), Shuffle: true, Memory: a}); !errors.Is(err, device.ErrMismatch) {
		t.Error(err)
	}
	ended, stop := context.WithCancel(ctx)
	stop()
	if _, err := FromFiles(ended, b, storage.Parquet(none), FileOptions{}); !errors.Is(err, device.ErrCanceled) {
		t.Error(err)
	}
}

// TestKillAndResumeEverywhere is 100 trainings over each kind of file and order,
// killed at random and gone on with by other numbers of ranks: each row comes
// once an epoch.
func TestKillAndResumeEverywhere(t *testing.T) {
	b, a := onHost(t)
	const rows = 503
	all := numbers(t, b, rows, 2)
	sources := map[string]Source{"table": FromTable(all)}
	for name, s := range written(t, b, all) {
		sources[name] = opened(t, b, s, FileOptions{Cache: 3000})
	}
	class := make([]int64, rows)
	for i := range class {
		class[i] = int64(i*i) % 11
	}
	for name, src := range sources {
		blocks := []int64{rows}
		if f, ok := src.(*Files); ok {
			blocks = f.Blocks()
		}
		byBlocks, err := order.Blocks(blocks, 150, 9)
		if err != nil {
			t.Fatal(err)
		}
		orders := map[string]order.Order{"rows": nil, "blocks": byBlocks, "stratified": order.Stratified(class, 9), "grouped": order.Grouped(class, 9), "sequential": order.Sequential(rows)}
		if name != "table" { // what files add are the orders that read by pieces
			orders = map[string]order.Order{"rows": nil, "blocks": byBlocks}
		}
		for which, by := range orders {
			for run := range 100 {
				killAndResume(t, fmt.Sprint(name, " ", which), src, Options{Order: by, Shuffle: by == nil, Seed: uint64(run), Epochs: 1, Memory: a}, run)
			}
		}
	}
}

// killAndResume is one training of one epoch.
func killAndResume(t *testing.T, name string, src Source, o Options, run int) {
	t.Helper()
	rows, random := int(src.NumRows()), rand.New(rand.NewPCG(uint64(run), 2))
	seen := make([]int, rows)
	o.Remainder = Remainder(random.IntN(2)) * Uneven
	var state State
	for life := 0; state.Epoch < 1; life++ {
		o.Size, o.Batch = 1+random.IntN(3), 20+random.Int64N(100)
		o.Workers, o.Prefetch = []int{InCaller, 1, 2}[random.IntN(3)], 1+random.IntN(3)
		ranks := make([]*Loader, o.Size)
		for r := range ranks {
			var err error
			if o.Rank = r; life == 0 {
				ranks[r], err = New(ctx, src, o)
			} else {
				ranks[r], err = Resume(ctx, src, o, state)
			}
			if err != nil {
				t.Fatalf("%s, run %d, life %d: %v", name, run, life, err)
			}
		}
		state = live(t, ranks, 1+random.IntN(6), seen)
		for _, l := range ranks {
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i, n := range seen {
		if n != 1 {
			t.Fatalf("%s, run %d: row %d came %d times", name, run, i, n)
		}
	}
}
