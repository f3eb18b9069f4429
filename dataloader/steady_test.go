package dataloader

import (
	"io"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table/storage"
)

// allocated is how many objects a batch allocates, over so many batches after
// others, on average.
func allocated(t *testing.T, s Source, o Options, batches int) float64 {
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
	take(400)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	take(batches)
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(batches)
}

// pieceObjects is what a piece that is made anew may allocate for each column: its
// description in the file, its pages, its values. The batches of twenty-five pieces are
// counted, since as many as five more may be begun ahead.
const pieceObjects = 150

// TestSteady: once the ring is there nothing is allocated for a batch; for a piece of
// a file or of a stream that comes anew, and of expressions, a number of objects that
// does not depend on the rows.
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
	var begun atomic.Int64
	stream, err := FromBatches(b, x.Schema(), rows, pieces(x, rows/5, &begun), StreamOptions{Piece: rows / 5})
	if err != nil {
		t.Fatal(err)
	}
	buffered, err := stream.Order(10_000, 7)
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
		"windows":        {FromTable(x), Options{Shuffle: true, Window: &Window{History: 24, Horizon: 4}}},
		"windows, taken": {TakeTable(x.Retain()), Options{Shuffle: true, Window: &Window{History: 24, Horizon: 4}}},
		"stream":         {stream, Options{}},
	} {
		c.o.Batch, c.o.Memory = 100, a
		if n := allocated(t, c.s, c.o, 400); n > stray {
			t.Errorf("%s: %.2f objects a batch", name, n)
		}
	}
	for name, c := range map[string]struct {
		s Source
		o Options
	}{"files in order": {files, Options{}}, "stream through a buffer": {stream, Options{Order: buffered}}} {
		c.o.Batch, c.o.Memory = 100, a
		if n := allocated(t, c.s, c.o, 2000); n*rows/5/100 > pieceObjects*columns {
			t.Errorf("%s: %.2f objects a batch, %.0f a piece", name, n, n*rows/5/100)
		}
	}
	d, err := Derive(b, FromTable(x), Column{"s", expr.Col("aa").Add(expr.Col("ab"))}, Column{"p", expr.Col("ac").Mul(2)})
	if err != nil {
		t.Fatal(err)
	}
	small := allocated(t, d, Options{Batch: 50, Shuffle: true, Memory: a}, 400)
	large := allocated(t, d, Options{Batch: 800, Shuffle: true, Memory: a}, 400)
	if large > small+stray || large > derivedObjects {
		t.Errorf("expressions: %.2f objects a batch of 50, %.2f a batch of 800", small, large)
	}
}

// derivedObjects is what a batch of two expressions over three columns may allocate:
// columns, their buffers, and what evaluates them.
const derivedObjects = 120
