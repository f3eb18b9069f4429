package storage_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	parquetfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/backends"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// mixed is rows of many types, with nulls, NaN, zeros of both signs, few values and many, and
// keys that rise.
func mixed(t testing.TB, b *kernels.Backend, rows int, seed uint64) *table.Table {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	key, few, small := make([]int64, rows), make([]int32, rows), make([]int8, rows)
	f, g := make([]float64, rows), make([]float32, rows)
	word, long, one := make([]string, rows), make([]string, rows), make([]string, rows)
	flag, valid := make([]bool, rows), make([]bool, rows)
	money, wide := make([]int64, rows), make([]int64, rows)
	for i := range rows {
		key[i], few[i], small[i] = int64(i/3), r.Int32N(12), int8(r.IntN(5))
		f[i], g[i] = r.NormFloat64(), float32(r.IntN(4))
		switch r.IntN(8) {
		case 0:
			f[i], g[i] = math.NaN(), float32(math.NaN())
		case 1:
			f[i], g[i] = math.Copysign(0, float64(r.IntN(2))-0.5), float32(math.Copysign(0, -1))
		}
		word[i], one[i] = fmt.Sprintf("word %d", r.IntN(9)), string(rune('A'+r.IntN(3)))
		long[i] = fmt.Sprintf("a text of its own, number %d, which is long", i)
		flag[i], valid[i] = r.IntN(2) == 0, r.IntN(6) > 0
		money[i], wide[i] = r.Int64N(50), r.Int64()-math.MaxInt64/2
	}
	all, err := table.New(b, table.Column("key", key), table.Column("few", few).Valid(valid), table.Column("small", small), table.Column("f", f).Valid(valid),
		table.Column("g", g), table.Column("word", word).Valid(valid), table.Column("long", long), table.Column("one", one), table.Column("flag", flag).Valid(valid),
		table.Column("money", money), table.Column("wide", wide))
	require.NoError(t, err)
	defer all.Release()
	out, err := all.Query().WithColumn("money", "cast(money as decimal(12,2))").WithColumn("wide", "cast(wide as decimal(30,3))").Collect(context.Background())
	require.NoError(t, err)
	return out
}

// kinds writes a table as every kind of source reads it, and gives the queries of its rows.
func kinds(t testing.TB, b *kernels.Backend, all *table.Table) map[string]*table.Query {
	t.Helper()
	ctx, dir := context.Background(), t.TempDir()
	at := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		return path
	}
	write(t, all, at("groups.parquet"), 3000, parquet.WithPageIndexEnabled(true), parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDataPageSize(4000), parquet.WithBatchSize(100))
	write(t, all, at("whole.parquet"), all.NumRows(), parquet.WithCompression(compress.Codecs.Zstd), parquet.WithDictionaryPageSizeLimit(1500), parquet.WithStoreDecimalAsInteger(true), parquet.WithDataPageSize(2000), parquet.WithBatchSize(64))
	write(t, all, at("plain.parquet"), 4000, parquet.WithPageIndexEnabled(true), parquet.WithDictionaryDefault(false), parquet.WithDataPageVersion(parquet.DataPageV2), parquet.WithBatchSize(500), parquet.WithDataPageSize(9000))
	require.NoError(t, storage.WriteIPC(ctx, all, at("file.arrow"), storage.IPCOptions{}))
	require.NoError(t, storage.WriteIPC(ctx, all, at("stream.arrows"), storage.IPCOptions{Stream: true, Compression: storage.CompressionLZ4}))
	require.NoError(t, storage.WriteCSV(ctx, all, at("lines.csv"), storage.CSVWriteOptions{}))
	n := all.NumRows() / 3
	for i := range int64(3) {
		part, err := all.Slice(i*n, n+all.NumRows()%3*(i/2))
		require.NoError(t, err)
		require.NoError(t, storage.WriteParquet(ctx, part, at(fmt.Sprintf("folder/part=%d/a.parquet", i)), storage.ParquetOptions{RowGroupRows: 1500}))
		part.Release()
	}
	types := map[string]arrow.DataType{}
	for _, f := range all.Schema().Fields() {
		types[f.Name] = f.Type
	}
	return map[string]*table.Query{
		"parquet":                storage.ScanParquet(at("groups.parquet")).On(b),
		"parquet, one row group": storage.ScanParquet(at("whole.parquet")).On(b),
		"parquet, plain pages":   storage.ScanParquet(at("plain.parquet")).On(b),
		"parquet in folders":     table.Scan(storage.Parquet(filepath.Join(dir, "folder/*/a.parquet"))).On(b),
		"ipc file":               storage.ScanIPC(at("file.arrow")).On(b),
		"ipc stream":             storage.ScanIPC(at("stream.arrows")).On(b),
		"csv":                    storage.ScanCSV(storage.CSVOptions{Types: types}, at("lines.csv")).On(b),
	}
}

// conditions ask for few rows, for many, for none and for all, of each type.
var conditions = []string{
	"few = 3", "few <> 3 and few <> 4", "few is null", "few is not null and word = 'word 3'", "word in ('word 1', 'word 8')", "word like '%7'",
	"not (word = 'word 2')", "f > 0.5", "f = 0", "not (f < 1)", "g = 0", "g <> 1", "g > 2 or g < 1", "flag", "not flag", "flag is null or few = 1", "key >= 100 and key < 130",
	"key = 17", "key > 100000000", "key >= 0", "small = 2", "one = 'B'", "one = 'Z'", "money = cast('7.00' as decimal(12,2))", "money > 30 and one <> 'A'", "long like '%number 77%'",
	"wide > 0", "few = small", "key > few and word <> one", "few + small > 12", "1 = 1", "1 = 2", "is_in(few, 2, null)", "f is null",
}

// TestFiltersInReaders: rows that a source filters are those that pass of the table that was
// written.
func TestFiltersInReaders(t *testing.T) {
	b := backend(t)
	rows := 10_000
	if !backends.OnHost() {
		rows = 700
	}
	all := mixed(t, b, rows, 1)
	defer all.Release()
	for kind, q := range kinds(t, b, all) {
		for i, text := range conditions {
			for _, columns := range [][]any{{"key", "few", "f", "g", "word", "long", "one", "flag", "money", "wide", "small"}, {"long", "f"}, {"word", "flag", "money"}} {
				if i%3 != 0 && len(columns) > 3 {
					continue
				}
				want, err := all.Query().Filter(text).Select(columns...).Collect(context.Background())
				require.NoError(t, err, text)
				got, err := q.Filter(text).Select(columns...).Collect(context.Background())
				require.NoError(t, err, "%s: %s", kind, text)
				t.Run(kind+": "+text, func(t *testing.T) { same(t, got, want) })
				got.Release()
				want.Release()
			}
		}
	}
}

// TestFiltersOfSmallBatches does so with batches of few rows, so that they end within pages.
func TestFiltersOfSmallBatches(t *testing.T) {
	b := backend(t)
	if !backends.OnHost() {
		return
	}
	all := mixed(t, b, 2000, 2)
	defer all.Release()
	queries := kinds(t, b, all)
	for _, rows := range []string{"1", "7", "64", "333"} {
		t.Setenv("VOLLEY_MORSEL_ROWS", rows)
		for i, text := range conditions {
			if rows == "1" && i%4 != 0 {
				continue
			}
			for _, kind := range []string{"parquet", "parquet, one row group", "parquet, plain pages"} {
				want, err := all.Query().Filter(text).Select("few", "word", "long", "f", "flag").Collect(context.Background())
				require.NoError(t, err, text)
				got, err := queries[kind].Filter(text).Select("few", "word", "long", "f", "flag").Collect(context.Background())
				require.NoError(t, err, "%s: %s", kind, text)
				t.Run(rows+" "+kind+": "+text, func(t *testing.T) { same(t, got, want) })
				got.Release()
				want.Release()
			}
		}
	}
}

// TestSplitsGiveTheSameBits: whatever number of workers reads a source, its rows come in the
// same order, and what is computed of them has the same bits.
func TestSplitsGiveTheSameBits(t *testing.T) {
	b := backend(t)
	if !backends.OnHost() {
		return
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	t.Setenv("VOLLEY_MORSEL_ROWS", "512")
	all := mixed(t, b, 20_000, 3)
	defer all.Release()
	for kind, q := range kinds(t, b, all) {
		for name, plan := range map[string]*table.Query{
			"all":    q,
			"filter": q.Filter("few < 4 and word <> 'word 1'").WithColumn("h", "f * g"),
			"groups": q.Filter("f is not null and f = f").GroupBy("one").Agg(table.Sum("f"), table.Mean("g"), table.Count()),
			"keys":   q.GroupBy("key").Agg(table.Sum("f"), table.Min("long")),
			"sorted": q.Filter("few > 2").Sort(table.Asc("word"), table.Desc("small")),
		} {
			var want *table.Table
			for _, workers := range []int{1, 2, 3, 8} {
				runtime.GOMAXPROCS(workers)
				got, err := plan.Collect(context.Background())
				require.NoError(t, err, "%s, %s", kind, name)
				if want == nil {
					want = got
					continue
				}
				t.Run(fmt.Sprint(kind, ", ", name, ", ", workers), func(t *testing.T) { same(t, got, want) })
				got.Release()
			}
			want.Release()
		}
	}
}

// TestHeadReadsLittle: a query that has enough rows leaves most of a source unread, and a
// row that is wrong later is not seen.
func TestHeadReadsLittle(t *testing.T) {
	b := backend(t)
	all := mixed(t, b, 60_000, 4)
	defer all.Release()
	path := filepath.Join(t.TempDir(), "a.parquet")
	write(t, all, path, 1000, parquet.WithDataPageSize(4000))
	damage(t, path, 30, "word")
	for name, q := range map[string]*table.Query{
		"head":   storage.ScanParquet(path).On(b).Head(5),
		"filter": storage.ScanParquet(path).On(b).Filter("few = 3").Head(5),
	} {
		var p device.Progress
		got, err := q.Collect(device.WithProgress(context.Background(), &p))
		require.NoError(t, err, name)
		require.EqualValues(t, 5, got.NumRows(), name)
		got.Release()
		if read, _, _ := p.Rows(); backends.OnHost() {
			require.Less(t, read, int64(30_000), name)
		}
	}
}

// damage changes a byte of the data pages of a column of a row group, behind their headers.
func damage(t *testing.T, path string, group int, column string) {
	t.Helper()
	f, err := parquetfile.OpenParquetFile(path, false)
	require.NoError(t, err)
	at := f.MetaData().Schema.ColumnIndexByName(column)
	chunk, err := f.MetaData().RowGroup(group).ColumnChunk(at)
	require.NoError(t, err)
	start, size := chunk.DataPageOffset(), chunk.TotalCompressedSize()
	if chunk.HasDictionaryPage() {
		start = chunk.DictionaryPageOffset()
	}
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := start; i < start+size; i++ {
		b[i] = 0xff
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))
}

// TestPagesAreLeftOut: a page that no row asks for is not unpacked, as its damage does not show:
// those of other columns, and those of the condition's own where the index of pages rules a
// batch out.
func TestPagesAreLeftOut(t *testing.T) {
	b := backend(t)
	if !backends.OnHost() {
		return
	}
	t.Setenv("VOLLEY_MORSEL_ROWS", "500")
	all := mixed(t, b, 8000, 7)
	defer all.Release()
	path := filepath.Join(t.TempDir(), "a.parquet")
	write(t, all, path, 8000, parquet.WithPageIndexEnabled(true), parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDictionaryDefault(false), parquet.WithDataPageSize(4000), parquet.WithBatchSize(100))
	for _, column := range []string{"long", "key"} {
		damageEnd(t, path, column)
	}
	low := storage.ScanParquet(path).On(b).Filter("key >= 100 and key < 300").Select("key", "long")
	got, err := low.Collect(context.Background())
	require.NoError(t, err)
	want, err := all.Query().Filter("key >= 100 and key < 300").Select("key", "long").Collect(context.Background())
	require.NoError(t, err)
	same(t, got, want)
	got.Release()
	want.Release()
	for _, column := range []string{"long", "key"} {
		_, err := storage.ScanParquet(path).On(b).Select(column).Collect(context.Background())
		wantError(t, err, nil, path, "row group 0", column)
	}
	_, err = storage.ScanParquet(path).On(b).Filter("key >= 0").Select("small").Collect(context.Background())
	wantError(t, err, nil, path, "row group 0", "key")
}

// damageEnd breaks the end of the last page of a column of row group 0, whose pages are compressed.
func damageEnd(t *testing.T, path, column string) {
	t.Helper()
	f, err := parquetfile.OpenParquetFile(path, false)
	require.NoError(t, err)
	chunk, err := f.MetaData().RowGroup(0).ColumnChunk(f.MetaData().Schema.ColumnIndexByName(column))
	require.NoError(t, err)
	end := chunk.DataPageOffset() + chunk.TotalCompressedSize()
	require.NoError(t, f.Close())
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := end - 200; i < end; i++ {
		b[i] = 0xff
	}
	require.NoError(t, os.WriteFile(path, b, 0o600))
}

// TestSplitErrors: an error in the middle of a source names the file and the part of it, and
// comes behind the rows before.
func TestSplitErrors(t *testing.T) {
	b := backend(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	all := mixed(t, b, 6000, 5)
	defer all.Release()
	path := filepath.Join(t.TempDir(), "a.parquet")
	write(t, all, path, 1000, parquet.WithDataPageSize(4000))
	damage(t, path, 3, "word")
	for _, workers := range []int{1, 2, 3, 8} {
		runtime.GOMAXPROCS(workers)
		for name, q := range map[string]*table.Query{
			"all":       storage.ScanParquet(path).On(b),
			"filter":    storage.ScanParquet(path).On(b).Filter("word <> 'x'").Select("key"),
			"project":   storage.ScanParquet(path).On(b).WithColumn("n", "few + 1").Select("n", "word"),
			"condition": storage.ScanParquet(path).On(b).Filter("few >= 0").Select("word"),
		} {
			rows := int64(0)
			var failed error
			for batch, err := range q.Batches(context.Background()) {
				if failed = err; err == nil {
					rows += batch.Len()
				}
			}
			wantError(t, failed, storage.ErrFormat, path, "row group 3", "word")
			require.Positive(t, rows, name)
			require.LessOrEqual(t, rows, int64(3000), name)
		}
		got, err := storage.ScanParquet(path).On(b).Select("key", "few").Collect(context.Background())
		require.NoError(t, err, "a column that nobody reads")
		require.EqualValues(t, 6000, got.NumRows())
		got.Release()
	}
}

// TestSplitsAreCancelled ends the context between two batches of each kind of source.
func TestSplitsAreCancelled(t *testing.T) {
	b := backend(t)
	all := mixed(t, b, 9000, 6)
	defer all.Release()
	for kind, q := range kinds(t, b, all) {
		ctx, cancel := context.WithCancel(context.Background())
		var failed error
		for _, err := range q.Filter("few <> 3").Batches(ctx) {
			failed = err
			cancel()
		}
		cancel()
		if failed != nil { // the first batch may have been the last
			require.ErrorIs(t, failed, device.ErrCanceled, kind)
		}
		_, err := q.Collect(ctx)
		require.ErrorIs(t, err, device.ErrCanceled, kind)
	}
}
