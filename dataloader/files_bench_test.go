package dataloader

import (
	"path/filepath"
	"testing"

	"github.com/volley-go/volley/table/storage"
)

// BenchmarkFiles is one epoch of a million rows of 32 float32 from a Parquet file
// by blocks through a buffer, decoded anew, and from a mapped Arrow IPC file,
// shuffled by rows; and the time from New to the first batch.
func BenchmarkFiles(b *testing.B) {
	backend, _ := onHost(b)
	t := numbers(b, backend, benchRows, benchColumns)
	dir := b.TempDir()
	parquet, ipc := filepath.Join(dir, "x.parquet"), filepath.Join(dir, "x.arrow")
	if err := storage.WriteParquet(ctx, t, parquet, storage.ParquetOptions{RowGroupRows: 1 << 16}); err != nil {
		b.Fatal(err)
	}
	if err := storage.WriteIPC(ctx, t, ipc, storage.IPCOptions{}); err != nil {
		b.Fatal(err)
	}
	decoded, err := FromFiles(ctx, backend, storage.Parquet(parquet), FileOptions{Cache: 40 << 20})
	if err != nil {
		b.Fatal(err)
	}
	defer decoded.Close()
	mapped, err := FromFiles(ctx, backend, storage.IPC(ipc), FileOptions{})
	if err != nil {
		b.Fatal(err)
	}
	defer mapped.Close()
	blocks, err := decoded.Order(1<<17, 7)
	if err != nil {
		b.Fatal(err)
	}
	for name, c := range map[string]struct {
		s Source
		o Options
	}{"parquet": {decoded, Options{Order: blocks}}, "mapped": {mapped, Options{Shuffle: true}}, "inorder": {FromTable(t), Options{}}, "taken": {nil, Options{Shuffle: true}}, "table": {FromTable(t), Options{Shuffle: true}}} {
		c.o.Batch, c.o.Seed = benchBatch, 7
		source := func() Source {
			if c.s == nil {
				return TakeTable(t.Retain())
			}
			return c.s
		}
		b.Run("source="+name+"/until=epoch", func(b *testing.B) { epoch(b, source(), c.o) })
		b.Run("source="+name+"/until=first", func(b *testing.B) {
			for b.Loop() {
				l, err := New(ctx, source(), c.o)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := l.Next(ctx); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
