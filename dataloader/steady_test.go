package dataloader

import (
	"io"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table/storage"
)

// allocated is how many objects a batch allocates, over some hundred batches after
// others, on average.
func allocated(t *testing.T, s Source, o Options) float64 {
	t.Helper()
	l := load(t, s, o)
	take := func(n int) {
		for range n {
			b, err := l.Next(ctx)
			if err == io.EOF {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := b.Release(); err != nil {
				t.Fatal(err)
			}
		}
	}
	const batches = 400
	take(batches)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	take(batches)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / batches
}

// TestSteady: once the ring is there nothing is allocated for a batch; of
// expressions a number of objects that does not depend on its rows.
func TestSteady(t *testing.T) {
	b, a := onHost(t)
	const rows, columns = 40_000, 8
	x := numbers(t, b, rows, columns)
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := storage.WriteParquet(ctx, x, path, storage.ParquetOptions{RowGroupRows: rows / 5}); err != nil {
		t.Fatal(err)
	}
	files, err := FromFiles(ctx, b, storage.Parquet(path), FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	closedLast(t, files)
	blocks, err := files.Order(10_000, 7)
	if err != nil {
		t.Fatal(err)
	}
	// What the runtime does beside, and what is allocated when an epoch ends.
	const stray = 0.5
	for name, c := range map[string]struct {
		s Source
		o Options
	}{
		"table":          {FromTable(x), Options{Shuffle: true}},
		"columns":        {FromTable(x), Options{Shuffle: true, Spare: -1}},
		"sections":       {FromTable(x), Options{Shuffle: true, Spare: 2 * (8000*columns*4 + 8000)}},
		"taken":          {TakeTable(x.Retain()), Options{Shuffle: true}},
		"in order":       {FromTable(x), Options{}},
		"files":          {files, Options{Shuffle: true}},
		"files by block": {files, Options{Order: blocks}},
	} {
		c.o.Batch, c.o.Memory = 100, a
		if n := allocated(t, c.s, c.o); n > stray {
			t.Errorf("%s: %.2f objects a batch", name, n)
		}
	}
	d, err := Derive(b, FromTable(x), Column{"s", expr.Col("aa").Add(expr.Col("ab"))}, Column{"p", expr.Col("ac").Mul(2)})
	if err != nil {
		t.Fatal(err)
	}
	small := allocated(t, d, Options{Batch: 50, Shuffle: true, Memory: a})
	large := allocated(t, d, Options{Batch: 800, Shuffle: true, Memory: a})
	if large > small+stray || large > derivedObjects {
		t.Errorf("expressions: %.2f objects a batch of 50, %.2f a batch of 800", small, large)
	}
}

// derivedObjects is what a batch of two expressions over three columns may allocate:
// columns, their buffers, and what evaluates them.
const derivedObjects = 120
