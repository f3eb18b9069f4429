package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels/cpu"
)

// TestChecksums changes a bit in each page of files whose pages have checksums (pyarrow's,
// of both versions, packed and not, of columns that are flat, lists, and lists of lists): every reader says which row group is damaged, and reads
// the others.
func TestChecksums(t *testing.T) {
	b, err := cpu.New(host.New())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx := context.Background()
	flat, lists := []string{"a", "b", "c"}, []string{"a", "l", "n"}
	for name, columns := range map[string][]string{"sums.parquet": flat, "sums-plain.parquet": flat, "sums-lists.parquet": lists} {
		whole, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		f, err := openParquet(filepath.Join("testdata", name), ParquetReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer f.close()
		pages := 0
		for g := range f.meta.NumRowGroups() {
			for leaf, column := range columns {
				chunk, err := f.meta.RowGroup(g).ColumnChunk(leaf)
				if err != nil {
					t.Fatal(err)
				}
				all, err := f.pagesOf(ctx, nil, chunk, "", column)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range all {
					pages++
					text := append([]byte(nil), whole...)
					text[p.body+p.Compressed*2/3] ^= 1
					path := filepath.Join(t.TempDir(), name)
					if err := os.WriteFile(path, text, 0o600); err != nil {
						t.Fatal(err)
					}
					damaged, err := OpenPieces(ctx, b, Parquet(path))
					if err != nil {
						t.Fatal(err)
					}
					for i := range damaged.Len() {
						batches, err := damaged.Read(ctx, i, []string{column})
						for _, one := range batches {
							one.Release()
						}
						if i != g && err != nil || i == g && (!errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), fmt.Sprintf("row group %d", g)) || !strings.Contains(err.Error(), "checksum")) {
							t.Errorf("%s, page at %d of group %d, read: group %d: %v", name, p.body, g, i, err)
						}
						if column != "a" && column != "b" {
							continue
						}
						words, err := damaged.OpenWords(ctx, i, []string{column}, []arrow.DataType{arrow.PrimitiveTypes.Float32})
						if i != g && err != nil || i == g && !errors.Is(err, ErrFormat) {
							t.Errorf("%s, page at %d of group %d, as words: group %d: %v", name, p.body, g, i, err)
						}
						if words != nil {
							words.Close()
						}
					}
					damaged.Close()
				}
			}
		}
		if pages < 8 {
			t.Errorf("%s has %d pages", name, pages)
		}
	}
}
