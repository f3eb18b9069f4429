package storage_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// rightSide is the rows of 4,000 whose key k, from 0 on, meets a condition.
func rightSide(t *testing.T, b *kernels.Backend, keys string) *table.Query {
	t.Helper()
	n := make([]int64, 4000)
	for i := range n {
		n[i] = int64(i)
	}
	all, err := table.New(b, table.Column("k", n), table.Column("n", n))
	require.NoError(t, err)
	t.Cleanup(all.Release)
	return all.Query().Filter(keys)
}

// TestJoinKeysInReaders: rows of files without the keys of a join's other side are left out within the
// reader, and those of the join are the same as without that, of every kind of file and page, whatever
// columns it reads, with nulls in keys, and where batches end within pages.
func TestJoinKeysInReaders(t *testing.T) {
	b := backend(t)
	rows, sizes := 10_000, []string{"2000", "333", "64"}
	if !backends.OnHost() {
		rows, sizes = 700, sizes[:1]
	}
	all := mixed(t, b, rows, 11)
	defer all.Release()
	for kind, q := range kinds(t, b, all) {
		for _, size := range sizes {
			if size != sizes[0] && !strings.HasPrefix(kind, "parquet") {
				continue
			}
			t.Setenv("VOLLEY_MORSEL_ROWS", size)
			for name, c := range map[string]struct {
				keys, on, filter string
			}{
				"some keys":        {"k % 31 = 0", "key", ""},
				"one in 100 rows":  {"k % 100 = 7", "key", ""},
				"far apart":        {"k % 60 = 0 or k = 3999", "key", ""},
				"few keys":         {"k = 17 or k = 900", "key", ""},
				"no keys":          {"k < 0", "key", ""},
				"a part":           {"k >= 500 and k < 700", "key", ""},
				"a filter":         {"k % 31 = 0", "key", "few < 5 and word <> 'word 2'"},
				"of the key":       {"k % 31 = 0", "key", "key > 300"},
				"of two columns":   {"k % 31 = 0", "key", "few < small + 6"},
				"no row":           {"k % 31 = 0", "key", "one = 'Z'"},
				"keys with nulls":  {"k % 5 = 3", "few", ""},
				"all keys":         {"k < 12", "few", ""},
				"keys of one byte": {"k = 2 or k = 4 or k > 3990", "small", "f > 0"},
			} {
				right := rightSide(t, b, c.keys)
				left := q
				if c.filter != "" {
					left = left.Filter(c.filter)
				}
				for what, plan := range map[string]*table.Query{
					"inner":  left.Join(right, table.Inner, table.Keys(c.on, "k")),
					"semi":   left.Select(c.on, "long", "money", "wide").Join(right, table.Semi, table.Keys(c.on, "k")),
					"groups": left.GroupBy(c.on).Agg(table.Count(), table.Max("word")).Join(right, table.Inner, table.Keys(c.on, "k")),
					"count":  left.Join(right, table.Semi, table.Keys(c.on, "k")).Agg(table.Count()),
					"left":   left.Select(c.on, "flag").Join(right, table.Left, table.Keys(c.on, "k")),
				} {
					t.Run(strings.Join([]string{kind, size, name, what}, ", "), func(t *testing.T) {
						t.Setenv("VOLLEY_OPTIMISER", "-all")
						want, err := plan.Collect(t.Context())
						require.NoError(t, err)
						defer want.Release()
						t.Setenv("VOLLEY_OPTIMISER", "")
						got, err := plan.Collect(t.Context())
						require.NoError(t, err)
						defer got.Release()
						same(t, got, want)
					})
				}
			}
		}
	}
}

// TestJoinKeysReadLittle: a scan of Parquet gives no row of a batch without a key of the join, though keys
// below and above these are there, and its other columns are not even unpacked there: their damage does not show.
func TestJoinKeysReadLittle(t *testing.T) {
	b := backend(t)
	if !backends.OnHost() {
		return
	}
	t.Setenv("VOLLEY_MORSEL_ROWS", "500")
	all := mixed(t, b, 9000, 12)
	defer all.Release()
	path := filepath.Join(t.TempDir(), "a.parquet")
	write(t, all, path, 1000, parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDataPageSize(4000), parquet.WithBatchSize(100))
	for _, column := range []string{"long", "word"} {
		damage(t, path, 4, column) // of keys from 1333 to 1666
	}
	right := rightSide(t, b, "k % 20 = 1 and (k < 1300 or k > 1700)")
	left := storage.ScanParquet(path).On(b)
	for name, q := range map[string]*table.Query{
		"join":   left.Select("key", "word", "long").Join(right, table.Inner, table.Keys("key", "k")),
		"filter": left.Filter("few < 6").Select("key", "word", "long").Join(right, table.Inner, table.Keys("key", "k")),
		"groups": left.GroupBy("key").Agg(table.Max("long"), table.Min("word")).Join(right, table.Semi, table.Keys("key", "k")),
	} {
		got, p, err := q.Profile(t.Context())
		require.NoError(t, err, name)
		require.Positive(t, got.NumRows(), name)
		got.Release()
		for _, s := range p.Steps {
			if strings.HasPrefix(s.Text, "scan "+path) {
				require.Less(t, s.Total.RowsOut, int64(900), "%s: %s", name, s.Text)
			}
		}
	}
	_, err := left.Select("key", "word", "long").Collect(context.Background())
	wantError(t, err, nil, path, "row group 4")
}

// TestJoinKeysOfFolders: keys that the names of folders say are no column of a file, and others are.
func TestJoinKeysOfFolders(t *testing.T) {
	b := backend(t)
	t.Setenv("VOLLEY_MORSEL_ROWS", "100")
	dir := t.TempDir()
	for part := range 6 {
		key, v := make([]int64, 200), make([]string, 200)
		for i := range key {
			key[i], v[i] = int64(part*200+i), fmt.Sprintf("row %d", part*200+i)
		}
		w, err := table.New(b, table.Column("key", key), table.Column("v", v))
		require.NoError(t, err)
		path := filepath.Join(dir, fmt.Sprintf("part=%d", part*50), "a.parquet")
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, storage.WriteParquet(t.Context(), w, path, storage.ParquetOptions{RowGroupRows: 150}))
		w.Release()
	}
	q := table.Scan(storage.Parquet(dir)).On(b)
	right := rightSide(t, b, "k % 100 = 0 or k % 100 = 7")
	for name, plan := range map[string]*table.Query{
		"folder": q.Join(right, table.Inner, table.Keys("part", "k")),
		"file":   q.Join(right, table.Inner, table.Keys("key", "k")),
		"both":   q.Join(right, table.Semi, table.Keys("part", "k")).Join(right, table.Inner, table.Keys("key", "k")),
	} {
		t.Setenv("VOLLEY_OPTIMISER", "-all")
		want, err := plan.Collect(t.Context())
		require.NoError(t, err, name)
		require.Positive(t, want.NumRows(), name)
		t.Setenv("VOLLEY_OPTIMISER", "")
		got, err := plan.Collect(t.Context())
		require.NoError(t, err, name)
		t.Run(name, func(t *testing.T) { same(t, got, want) })
		got.Release()
		want.Release()
	}
}
