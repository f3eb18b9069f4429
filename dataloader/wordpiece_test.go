package dataloader

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// mixed is a table of numbers of several types, with few values and many.
func mixed(rows int) []table.Series {
	wide, whole, small, single := make([]float64, rows), make([]int64, rows), make([]int16, rows), make([]float32, rows)
	for i := range rows {
		wide[i], whole[i], small[i], single[i] = float64(i)/7, int64(i%11)<<40+1, int16(-i%300), float32(i%5)
	}
	return []table.Series{table.Column("wide", wide), table.Column("whole", whole), table.Column("small", small), table.Column("single", single)}
}

// TestWordPieces: batches that are decoded as they are asked for are those of the
// table, in every layout, on every rank, and where a batch ends in another piece or
// wraps around.
func TestWordPieces(t *testing.T) {
	b, a := onHost(t)
	all := made(t, b, mixed(1003)...)
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := storage.WriteParquet(ctx, all, path, storage.ParquetOptions{RowGroupRows: 100}); err != nil {
		t.Fatal(err)
	}
	f := opened(t, b, storage.Parquet(path), FileOptions{})
	for _, o := range []Options{
		{}, {Layout: ColumnMajor}, {Masks: true}, {Labels: []string{"whole"}}, {Rank: 2, Size: 3}, {Workers: InCaller, Features: []string{"small", "wide"}}, {Shuffle: true},
	} {
		for _, batch := range []int64{1, 64, 333, 2000} {
			o.Batch, o.Epochs, o.Memory = batch, 2, a
			l := load(t, f, o)
			same(t, fmt.Sprintf("%+v", o), l, load(t, FromTable(all), o))
			words, cache := 0, l.reader.(*pieceReader).cache
			cache.mu.Lock() // pieces that were foreseen may be decoded still
			for _, p := range cache.pieces {
				switch p.reader.(type) {
				case *wordPiece:
					words++
				case *rowReader:
					if !o.Shuffle {
						t.Error("a piece was decoded whole")
					}
				case *tableReader:
					t.Error("a piece was read by columns")
				}
			}
			cache.mu.Unlock()
			if !o.Shuffle && words == 0 {
				t.Error("no piece was decoded as words")
			}
		}
	}
	for run := range 30 {
		killAndResume(t, "words", f, Options{Epochs: 1, Memory: a}, run)
	}
}

// TestWordPieceDamaged: an index that no dictionary has is found when its batch is
// made: an error that names file and row group, or with SkipBad a batch without the
// rows of that group.
func TestWordPieceDamaged(t *testing.T) {
	b, a := onHost(t)
	path := filepath.Join(t.TempDir(), "x.parquet")
	few := make([]float32, 600)
	for i := range few {
		few[i] = float32(i % 5)
	}
	if err := storage.WriteParquet(ctx, made(t, b, table.Column("few", few)), path, storage.ParquetOptions{RowGroupRows: 300}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for bit := 0; bit < 8*len(whole) && found < 3; bit++ {
		damaged := append([]byte(nil), whole...)
		damaged[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := FromFiles(ctx, b, storage.Parquet(path), FileOptions{})
		if err != nil {
			continue
		}
		if f.NumRows() == 600 && indexFails(t, f, Options{Batch: 50, Epochs: 1, Memory: a}, path) {
			found++
			l, err := New(ctx, f, Options{Batch: 50, Epochs: 1, Memory: a, SkipBad: true})
			if err != nil {
				t.Fatal(err)
			}
			for range l.Steps() {
				next(t, l)
			}
			if s := l.Stats(); s.Batches != 12 || s.Skipped == 0 || s.Skipped%50 != 0 || s.Skipped+s.Rows != 600 {
				t.Errorf("bit %d: %+v", bit, s)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
	if found == 0 {
		t.Error("no flip made an index that is too large")
	}
}

// indexFails reports whether an epoch fails of an index.
func indexFails(t *testing.T, f *Files, o Options, path string) bool {
	t.Helper()
	l, err := New(ctx, f, o)
	if err != nil {
		return false
	}
	defer l.Close()
	for {
		b, err := l.Next(ctx)
		if err == io.EOF {
			return false
		}
		if err != nil {
			if !strings.Contains(err.Error(), "of a dictionary of") {
				return false
			}
			if !errors.Is(err, storage.ErrFormat) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "row group ") {
				t.Errorf("%v", err)
			}
			return true
		}
		if err := b.Release(); err != nil {
			t.Fatal(err)
		}
	}
}
