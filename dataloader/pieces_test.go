package dataloader

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// TestAhead: of an epoch in order the next pieces are decoded before a batch asks for
// them, and those that were read are forgotten.
func TestAhead(t *testing.T) {
	b, a := onHost(t)
	const rows, columns, pieces = 20_000, 6, 20
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := storage.WriteParquet(ctx, numbers(t, b, rows, columns), path, storage.ParquetOptions{RowGroupRows: rows / pieces}); err != nil {
		t.Fatal(err)
	}
	files, err := FromFiles(ctx, b, storage.Parquet(path), FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	closedLast(t, files)
	l := load(t, files, Options{Batch: 100, Prefetch: 1, Workers: 1, Epochs: 1, Memory: a})
	r := l.reader.(*pieceReader)
	// As their values, or as indices and dictionaries that are no longer than that.
	if want := int64(1+processors.Count()) * rows / pieces * columns * 4; r.Bytes() < want || r.Bytes() > 2*want {
		t.Errorf("%d bytes are kept, not %d to twice as many", r.Bytes(), want)
	}
	batch, err := l.Next(ctx) // of piece 0, as the one that is lent is all there is
	if err != nil {
		t.Fatal(err)
	}
	there := func(i int) bool {
		r.cache.mu.Lock()
		defer r.cache.mu.Unlock()
		p := r.cache.pieces[i]
		return p != nil && p.reader != nil
	}
	for i := 1; i <= processors.Count(); i++ {
		for wait := time.Millisecond; !there(i); wait *= 2 {
			if wait > time.Minute {
				t.Fatal("the next pieces are not decoded ahead, or forgotten before they were read")
			}
			time.Sleep(wait)
		}
	}
	if there(processors.Count() + 1) {
		t.Error("more is decoded than there is room for")
	}
	if err := batch.Release(); err != nil {
		t.Fatal(err)
	}
	for at := int64(100); ; {
		got, _ := next(t, l)
		if got == nil {
			break
		}
		for _, row := range got {
			if row != at {
				t.Fatalf("row %d where %d should be", row, at)
			}
			at++
		}
	}
	r.cache.mu.Lock()
	defer r.cache.mu.Unlock()
	if r.cache.bytes > r.cache.limit {
		t.Errorf("%d bytes of %d are kept at the end", r.cache.bytes, r.cache.limit)
	}
	if n := len(r.cache.pieces); n > 1+processors.Count() {
		t.Errorf("%d pieces of %d are kept at the end", n, pieces)
	}
	if s := l.Stats(); s.Read <= 0 || s.Copy != 0 || s.Decode <= 0 || s.Bound == "" {
		t.Errorf("%+v", s)
	}
}

// TestPiecesByRows holds batches of files, whose pieces are decoded by rows or laid
// out so, against those of the table that was written: numbers of 32 bits, of other
// widths, with nulls, as rows and as columns, in order, shuffled and by blocks.
func TestPiecesByRows(t *testing.T) {
	b, a := onHost(t)
	const rows = 3000
	f, n, ok := make([]float32, rows), make([]int64, rows), make([]bool, rows)
	for i := range f {
		f[i], n[i], ok[i] = float32(i%50), int64(i*7), i%5 > 0
	}
	words := made(t, b, table.Column("a", f), table.Column("b", f), table.Column("c", f), table.Column("d", f), table.Column("e", f))
	mixed := made(t, b, table.Column("a", f), table.Column("b", n), table.Column("c", f).Valid(ok), table.Column("d", n).Valid(ok), table.Column("e", n))
	for name, x := range map[string]*table.Table{"words": words, "mixed": mixed} {
		path := filepath.Join(t.TempDir(), name+".parquet")
		if err := storage.WriteParquet(ctx, x, path, storage.ParquetOptions{RowGroupRows: 700}); err != nil {
			t.Fatal(err)
		}
		files, err := FromFiles(ctx, b, storage.Parquet(path), FileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		closedLast(t, files)
		blocks, err := files.Order(1000, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{}, {Shuffle: true}, {Order: blocks}} {
			for _, layout := range []Layout{RowMajor, ColumnMajor} {
				o.Layout, o.Labels, o.Batch, o.Masks, o.Epochs, o.Memory = layout, []string{"b"}, 90, true, 2, a
				l, want := load(t, files, o), load(t, FromTable(x), o)
				for alike(t, l, want) {
				}
			}
		}
	}
}

// TestCacheTooSmall: who shuffles by rows files that do not fit the cache is told, once for
// each loader, and nobody else is.
func TestCacheTooSmall(t *testing.T) {
	b, a := onHost(t)
	all := numbers(t, b, 1003, 5)
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := storage.WriteParquet(ctx, all, path, storage.ParquetOptions{RowGroupRows: 100}); err != nil {
		t.Fatal(err)
	}
	small, large := opened(t, b, storage.Parquet(path), FileOptions{Cache: 10_000}), opened(t, b, storage.Parquet(path), FileOptions{})
	blocks, err := small.Order(200, 1)
	if err != nil {
		t.Fatal(err)
	}
	derived := func(f *Files) Source {
		d, err := DeriveBeside(b, f, Column{"z", expr.Col("aa").Mul(2)})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for name, c := range map[string]struct {
		s    Source
		o    Options
		want int
	}{
		"small":            {small, Options{Shuffle: true}, 1},
		"small, derived":   {derived(small), Options{Shuffle: true}, 1},
		"small, windows":   {small, Options{Shuffle: true, Window: &Window{History: 3}}, 1},
		"small, by blocks": {small, Options{Order: blocks}, 0},
		"small, in order":  {small, Options{}, 0},
		"large":            {large, Options{Shuffle: true}, 0},
		"table":            {FromTable(all), Options{Shuffle: true}, 0},
	} {
		told := 0
		c.o.Batch, c.o.Memory, c.o.Epochs = 50, a, 1
		c.o.Warn = func(text string, err error) {
			if told++; !strings.Contains(text, "shuffle blocks through a buffer") || !strings.Contains(err.Error(), "x.parquet takes some 20060 bytes decoded, and the cache has 10000") &&
				c.o.Window == nil && name != "small, derived" {
				t.Errorf("%s: %s: %v", name, text, err)
			}
		}
		l := load(t, c.s, c.o)
		for rows, _ := next(t, l); rows != nil; rows, _ = next(t, l) {
		}
		if told != c.want {
			t.Errorf("%s: told %d times", name, told)
		}
	}
}
