package storage_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// hiveFiles are the files of pyarrow's folders (testdata/write_pyarrow.py), or copies in
// another format.
func hiveFiles(t *testing.T, ext string) []string {
	t.Helper()
	paths, err := storage.FilesOf("testdata/hive")
	if err != nil || len(paths) != 4 {
		t.Fatal(paths, err)
	}
	if ext == ".parquet" {
		return paths
	}
	b := backend(t)
	dir := t.TempDir()
	for i, path := range paths {
		got, err := storage.Read(context.Background(), b, storage.Parquet(path).With(storage.ParquetReadOptions{NoHive: true}), storage.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(dir, strings.TrimSuffix(path, ".parquet")+ext)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), storage.Write(context.Background(), got, to)); err != nil {
			t.Fatal(err)
		}
		got.Release()
		paths[i] = to
	}
	return paths
}

func hiveSource(ext string, off bool, paths ...string) table.Source {
	switch ext {
	case ".parquet":
		return storage.Parquet(paths...).With(storage.ParquetReadOptions{NoHive: off})
	case ".csv":
		return storage.CSV(storage.CSVOptions{NoHive: off}, paths...)
	}
	return storage.IPC(paths...).With(storage.IPCReadOptions{NoHive: off})
}

// TestFoldersAsPaths reads a folder, and what is below it at any depth, like the files in it.
func TestFoldersAsPaths(t *testing.T) {
	ctx, b := context.Background(), backend(t)
	dir := filepath.Join(t.TempDir(), "a[1] *")
	for i, path := range hiveFiles(t, ".parquet") {
		text, err := os.ReadFile(path)
		rest, inside := strings.CutPrefix(filepath.ToSlash(path), "testdata/hive/")
		for _, folder := range []string{"plain", "deep/.hidden", "deep/below"} {
			to := filepath.Join(dir, folder, rest)
			if folder != "plain" {
				to = filepath.Join(dir, folder, fmt.Sprint("part", i), "file.parquet")
			}
			if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, text, 0o600)); err != nil || !inside {
				t.Fatal(err, inside)
			}
		}
	}
	escaped := strings.NewReplacer("[", `\[`, "*", `\*`).Replace(dir)
	for path, want := range map[string]string{
		filepath.Join(dir, "plain"):                     "v year city",
		filepath.Join(escaped, "plain/**/*.parquet"):    "v year city",
		filepath.Join(escaped, "deep/**/*.parquet"):     "v",
		filepath.Join(escaped, "*/below/**/f*.parquet"): "v",
	} {
		got, err := storage.Read(ctx, b, storage.Parquet(path), storage.ReadOptions{})
		if err != nil {
			t.Fatal(path, err)
		}
		var names []string
		for _, f := range got.Schema().Fields() {
			names = append(names, f.Name)
		}
		if got.NumRows() != 4 || strings.Join(names, " ") != want {
			t.Errorf("%s: %d rows, columns %q", path, got.NumRows(), names)
		}
		got.Release()
	}
	for path, text := range map[string]string{
		filepath.Join(dir, "deep"):                 "is a directory, and there are no files in it",
		filepath.Join(escaped, "**/*.csv"):         "no file matches",
		filepath.Join(escaped, "nowhere/**/*.csv"): "no file matches",
	} {
		if _, err := storage.Read(ctx, b, storage.Parquet(path), storage.ReadOptions{}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestHive reads the columns that folders say, of every format, in each way.
func TestHive(t *testing.T) {
	ctx := context.Background()
	b := backend(t)
	want := map[string][]string{
		"year": {"[2001]", "[2001]", "[2002]", "[2002]"},
		"city": {`["Rome"]`, `["São Paulo/Sé"]`, `["Rome"]`, "[null]"},
		"v":    {"[1]", "[2]", "[3]", "[4]"},
	}
	inOrder := func(values map[string][]string) map[string][]string { // by v: files come in lexical order
		out := map[string][]string{}
		for i := range 4 {
			at := slices.Index(values["v"], fmt.Sprintf("[%d]", i+1))
			for name, all := range values {
				if at >= 0 {
					out[name] = append(out[name], all[at])
				}
			}
		}
		return out
	}
	check := func(what string, got *table.Table, columns ...string) {
		t.Helper()
		var names []string
		for _, f := range got.Schema().Fields() {
			names = append(names, f.Name)
		}
		if !slices.Equal(names, columns) {
			t.Errorf("%s: columns %q, not %q", what, names, columns)
		}
		values := columnsOf(t, got)
		if values["v"] != nil {
			values = inOrder(values)
		}
		for _, name := range columns {
			if values["v"] != nil && !slices.Equal(values[name], want[name]) {
				t.Errorf("%s: column %s is %s, not %s", what, name, values[name], want[name])
			}
		}
	}
	for _, ext := range []string{".parquet", ".csv", ".arrow", ".arrows"} {
		paths := hiveFiles(t, ext)
		source := hiveSource(ext, false, paths...)
		got, err := storage.Read(ctx, b, source, storage.ReadOptions{})
		if err != nil {
			t.Fatal(ext, err)
		}
		check(ext, got, "v", "year", "city")
		got.Release()
		if got, err = storage.Read(ctx, b, hiveSource(ext, true, paths...), storage.ReadOptions{}); err != nil {
			t.Fatal(ext, err)
		}
		check(ext+" without", got, "v")
		got.Release()
		for _, columns := range [][]string{{"city"}, {"v", "year"}, {"v"}, {}} {
			if got, err = storage.Read(ctx, b, source, storage.ReadOptions{Columns: columns}); err != nil {
				t.Fatal(ext, err)
			}
			check(fmt.Sprint(ext, " ", columns), got, columns...)
			if got.NumRows() != 4 {
				t.Errorf("%s: %d rows of columns %q", ext, got.NumRows(), columns)
			}
			got.Release()
		}
		for text, rows := range map[string]int64{"year = 2001": 2, "year > 2001 and v < 4": 1, `city = 'Rome'`: 2, "year = 1999": 0} {
			got, err := table.Scan(source).On(b).Filter(text).Collect(ctx)
			if err != nil {
				t.Fatal(ext, text, err)
			}
			if got.NumRows() != rows {
				t.Errorf("%s: %d rows where %s", ext, got.NumRows(), text)
			}
			got.Release()
		}
		if !b.Device.Place().HostAccessible() || ext == ".arrows" {
			continue
		}
		pieces, err := storage.OpenPieces(ctx, b, source)
		if err != nil {
			t.Fatal(ext, err)
		}
		var all []*table.Batch
		for i := range pieces.Len() {
			batches, err := pieces.Read(ctx, i, nil)
			if err != nil {
				t.Fatal(ext, err)
			}
			all = append(all, batches...)
		}
		got, err = table.NewTable(b, pieces.Schema(), all)
		if err != nil {
			t.Fatal(err)
		}
		check(ext+" in pieces", got, "v", "year", "city")
		got.Release()
		pieces.Close()
		if s, is := source.(*storage.IPCSource); is {
			mapped, err := storage.MapIPC(ctx, b, s, nil)
			if err != nil {
				t.Fatal(err)
			}
			check("mapped", mapped, "v", "year", "city")
			mapped.Release()
		}
	}
	folder, err := storage.Folder("testdata/hive")
	if err != nil {
		t.Fatal(err)
	}
	got, err := storage.Read(ctx, b, folder, storage.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check("a folder", got, "v", "year", "city")
	got.Release()
	skipped, total, err := storage.Parquet(hiveFiles(t, ".parquet")...).Skipped(ctx, mustParse(t, "year = 2002"))
	if err != nil || skipped != 2 || total != 4 {
		t.Errorf("%d of %d row groups are left out: %v", skipped, total, err)
	}
}

// TestHiveKinds: what folders say is whole numbers, dates or texts, and the same keys for
// all files.
func TestHiveKinds(t *testing.T) {
	ctx := context.Background()
	b := backend(t)
	for _, c := range []struct {
		folders []string
		typ     string
		want    []string
	}{
		{[]string{"k=1", "k=-20"}, "int64", []string{"[1]", "[-20]"}},
		{[]string{"k=01", "k=02"}, "utf8", []string{`["01"]`, `["02"]`}},
		{[]string{"k=2001-02-03", "k=__HIVE_DEFAULT_PARTITION__"}, "date32", []string{`["2001-02-03"]`, "[null]"}},
		{[]string{"k=a b", "k=a%3Db"}, "utf8", []string{`["a b"]`, `["a=b"]`}},
	} {
		var paths []string
		dir := t.TempDir()
		for _, f := range c.folders {
			path := filepath.Join(dir, f, "x.csv")
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte("v\n1\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		got, err := storage.Read(ctx, b, storage.CSV(storage.CSVOptions{}, paths...), storage.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if typ := got.Schema().Field(1).Type.String(); typ != c.typ || !slices.Equal(columnsOf(t, got)["k"], c.want) {
			t.Errorf("%q: %s of %s", c.folders, columnsOf(t, got)["k"], typ)
		}
		got.Release()
		plain := filepath.Join(dir, "x.csv")
		if err := os.WriteFile(plain, []byte("v\n1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		one, err := storage.Read(ctx, b, storage.CSV(storage.CSVOptions{}, paths[0]), storage.ReadOptions{})
		if err != nil || one.NumColumns() != 1 {
			t.Errorf("%q: %d columns of a file named alone: %v", c.folders, one.NumColumns(), err)
		}
		one.Release()
		o := storage.CSVOptions{HiveFrom: storage.HiveFolder(dir)}
		if one, err = storage.Read(ctx, b, storage.CSV(o, paths[0]), storage.ReadOptions{}); err != nil || one.NumColumns() != 2 {
			t.Errorf("%q: %d columns of a file below a folder: %v", c.folders, one.NumColumns(), err)
		}
		one.Release()
		_, err = storage.Read(ctx, b, storage.CSV(storage.CSVOptions{}, paths[0], plain), storage.ReadOptions{})
		wantError(t, err, device.ErrMismatch, plain, "k")
	}
}

// TestExtraColumns: columns that a later file has and the first has not are not left out
// unseen.
func TestExtraColumns(t *testing.T) {
	ctx := context.Background()
	b := backend(t)
	dir := t.TempDir()
	for _, ext := range []string{".parquet", ".arrow", ".arrows", ".csv"} {
		one, two := filepath.Join(dir, "one"+ext), filepath.Join(dir, "two"+ext)
		for path, text := range map[string]string{one: "a,b\n1,x\n", two: "a,c,b\n2,3,y\n"} {
			from := read(t, b, file(t, "x.csv", []byte(text)))
			if err := storage.Write(ctx, from, path); err != nil {
				t.Fatal(err)
			}
			from.Release()
		}
		source := hiveSource(ext, false, one, two)
		_, err := storage.Read(ctx, b, source, storage.ReadOptions{})
		wantError(t, err, device.ErrMismatch, two, `"c"`)
		if ext == ".csv" {
			continue // whose files must have the same columns in any case
		}
		got, err := storage.Read(ctx, b, source, storage.ReadOptions{Columns: []string{"a", "b"}})
		if err != nil {
			t.Fatal(ext, err)
		}
		if values := columnsOf(t, got); !slices.Equal(values["a"], []string{"[1]", "[2]"}) || !slices.Equal(values["b"], []string{`["x"]`, `["y"]`}) {
			t.Errorf("%s: %v", ext, values)
		}
		got.Release()
	}
}

func mustParse(t *testing.T, text string) *expr.Expr {
	t.Helper()
	e, err := expr.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
