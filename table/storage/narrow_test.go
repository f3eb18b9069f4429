package storage_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	parquetfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/require"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// bounded is a column whose four values say come over and over, and those that it has in truth: one
// below the others, one above, or "" where there is no such value.
type bounded struct {
	name         string
	of           arrow.DataType
	says         string
	below, above string
}

// boundedColumns are of each type whose statistics are used. Texts have one length, so that files
// of either values are alike but for the values.
var boundedColumns = []bounded{
	{"i8", arrow.PrimitiveTypes.Int8, "2 3 5 6", "-100 3 5 6", "2 3 5 100"},
	{"i16", arrow.PrimitiveTypes.Int16, "2 3 5 6", "-100 3 5 6", "2 3 5 7000"},
	{"i32", arrow.PrimitiveTypes.Int32, "2 3 5 6", "1 3 5 6", "2 3 5 70000"},
	{"i64", arrow.PrimitiveTypes.Int64, "-2 3 5 6", "-9000000000 3 5 6", "-2 3 5 7"},
	{"u8", arrow.PrimitiveTypes.Uint8, "2 3 200 201", "1 3 200 201", "2 3 200 255"},
	{"u16", arrow.PrimitiveTypes.Uint16, "2 3 5 60000", "1 3 5 60000", "2 3 5 65535"},
	{"u32", arrow.PrimitiveTypes.Uint32, "2 3 5 3000000000", "1 3 5 3000000000", "2 3 5 4000000000"},
	{"u64", arrow.PrimitiveTypes.Uint64, "2 3 5 18446744073709551000", "1 3 5 18446744073709551000", "2 3 5 18446744073709551615"},
	{"f32", arrow.PrimitiveTypes.Float32, "2 3 5 6", "-100 3 5 6", "2 3 5 100"},
	{"f64", arrow.PrimitiveTypes.Float64, "-2 3 5 6", "-2.5 3 5 6", "-2 3 5 Inf"},
	{"nan", arrow.PrimitiveTypes.Float64, "2 3 5 6", "", ""},
	{"zero", arrow.PrimitiveTypes.Float64, "0 3 5 6", "", ""},
	{"yes", arrow.FixedWidthTypes.Boolean, "true true true true", "true true false true", ""},
	{"no", arrow.FixedWidthTypes.Boolean, "false false false false", "", "false false false true"},
	{"s", arrow.BinaryTypes.String, "middle-00 middle-01 middle-02 middle-03", "middle+00 middle-01 middle-02 middle-03", "middle-00 middle-01 middle-02 middle-04"},
	{"large", arrow.BinaryTypes.LargeString, "bb bc bd be", "ba bc bd be", "bb bc bd ç"},
	{"d", arrow.FixedWidthTypes.Date32, "2020-01-02 2020-01-03 2020-01-04 2020-01-05", "1969-01-02 2020-01-03 2020-01-04 2020-01-05", "2020-01-02 2020-01-03 2020-01-04 2020-01-06"},
	{"t", &arrow.TimestampType{Unit: arrow.Microsecond}, "2020-01-02 2020-01-03 2020-01-04 2020-01-05", "1969-01-02 2020-01-03 2020-01-04 2020-01-05", "2020-01-02 2020-01-03 2020-01-04 2020-01-06"},
	{"dec", &arrow.Decimal128Type{Precision: 30, Scale: 2}, "-2.50 3.00 5.00 1234567890123456789012345.00", "-2.51 3.00 5.00 1234567890123456789012345.00", "-2.50 3.00 5.00 1234567890123456789012345.01"},
}

// cyclic is a table of columns whose values come over and over.
func cyclic(t *testing.T, b *kernels.Backend, rows int, values func(bounded) string) *table.Table {
	t.Helper()
	var fields []arrow.Field
	var columns []*memory.Column
	for _, c := range boundedColumns {
		a := array.NewBuilder(arrowmem.DefaultAllocator, c.of)
		texts := strings.Fields(values(c))
		for i := range rows {
			require.NoError(t, a.AppendValueFromString(texts[i%len(texts)]))
		}
		one := a.NewArray()
		a.Release()
		column, err := memory.FromArrow(one)
		one.Release()
		require.NoError(t, err)
		fields, columns = append(fields, arrow.Field{Name: c.name, Type: c.of, Nullable: true}), append(columns, column)
	}
	schema := arrow.NewSchema(fields, nil)
	batch, err := table.NewBatch(schema, int64(rows), columns)
	require.NoError(t, err)
	out, err := table.NewTable(b, schema, []*table.Batch{batch})
	require.NoError(t, err)
	return out
}

// tails are where the index of pages begins in a file, and where its footer does.
func tails(t *testing.T, content []byte) (index, footer int) {
	t.Helper()
	r, err := parquetfile.NewParquetReader(bytes.NewReader(content))
	require.NoError(t, err)
	footer = len(content) - 8 - int(r.MetaData().Size())
	index = footer
	for i := range r.MetaData().RowGroup(0).NumColumns() {
		chunk, err := r.MetaData().RowGroup(0).ColumnChunk(i)
		require.NoError(t, err)
		if at := chunk.GetColumnIndexLocation(); at != nil {
			index = min(index, int(at.Offset))
		}
	}
	return index, footer
}

// lying writes files whose values are those of truth and whose footer, or index of pages, is that of
// a file of what boundedColumns says.
func lying(t *testing.T, b *kernels.Backend, truth func(bounded) string, props ...parquet.WriterProperty) (footer, pages string) {
	t.Helper()
	var contents [2][]byte
	for i, values := range []func(bounded) string{truth, func(c bounded) string { return c.says }} {
		all := cyclic(t, b, 256, values)
		path := filepath.Join(t.TempDir(), "x.parquet")
		write(t, all, path, 256, append(props, parquet.WithStats(true), parquet.WithBatchSize(32), parquet.WithDataPageSize(16))...)
		all.Release()
		var err error
		contents[i], err = os.ReadFile(path)
		require.NoError(t, err)
	}
	index, end := tails(t, contents[0])
	other, otherEnd := tails(t, contents[1])
	require.Equal(t, []int{index, end}, []int{other, otherEnd}, "files that differ but in their values")
	footer, pages = filepath.Join(t.TempDir(), "footer.parquet"), filepath.Join(t.TempDir(), "pages.parquet")
	require.NoError(t, os.WriteFile(footer, append(contents[0][:end:end], contents[1][end:]...), 0o600))
	require.NoError(t, os.WriteFile(pages, append(append(contents[0][:index:index], contents[1][index:end]...), contents[0][end:]...), 0o600))
	return footer, pages
}

// readings are the ways in which rows of a file are read by a predicate; each gives the first error.
var readings = map[string]func(t *testing.T, b *kernels.Backend, path, column string, predicate *expr.Expr) error{
	"filter": func(t *testing.T, b *kernels.Backend, path, column string, predicate *expr.Expr) error {
		return collected(t, storage.ScanParquet(path).On(b).Filter(predicate).Select(column))
	},
	"filter of other columns": func(t *testing.T, b *kernels.Backend, path, column string, predicate *expr.Expr) error {
		return collected(t, storage.ScanParquet(path).On(b).Filter(predicate).Agg(table.Sum("nan"), table.Count()))
	},
	"filter of two columns": func(t *testing.T, b *kernels.Backend, path, column string, predicate *expr.Expr) error {
		return collected(t, storage.ScanParquet(path).On(b).Filter(predicate.Or(expr.Col("zero").Eq(3.0))).Agg(table.Count()))
	},
	"scan": func(t *testing.T, b *kernels.Backend, path, column string, predicate *expr.Expr) error {
		r, err := storage.Parquet(path).Scan(t.Context(), b, table.ScanOptions{Columns: []string{"zero", column}, Predicate: predicate, BatchRows: 100})
		require.NoError(t, err)
		defer r.Close()
		return drained(t.Context(), r)
	},
	"splits": func(t *testing.T, b *kernels.Backend, path, column string, predicate *expr.Expr) error {
		source := storage.Parquet(path)
		splits, err := source.Splits(t.Context(), b, table.ScanOptions{Columns: []string{column}, Predicate: predicate, Exact: source.Filters(predicate), BatchRows: 50})
		require.NoError(t, err)
		defer splits.Close()
		for {
			s, err := splits.Next(t.Context())
			if err == io.EOF {
				return nil
			}
			require.NoError(t, err)
			err = drained(t.Context(), s)
			s.Close()
			if err != nil {
				return err
			}
		}
	},
}

// joined reads the rows whose column i64 has a key of a join's other side; its keys are handed down to the scan.
func joined(t *testing.T, b *kernels.Backend, path string, predicate *expr.Expr) error {
	right, err := table.New(b, table.Column("key", []int64{3, 5}))
	require.NoError(t, err)
	defer right.Release()
	t.Setenv("VOLLEY_MORSEL_ROWS", "64")
	q := storage.ScanParquet(path).On(b).Filter(predicate).Join(right, table.Semi, table.Keys("i64", "key")).Agg(table.Count())
	plan, err := q.Explain(t.Context())
	require.NoError(t, err)
	require.Contains(t, plan, "bounds of i64 in keys")
	return collected(t, q)
}

func collected(t *testing.T, q *table.Query) error {
	out, err := q.Collect(t.Context())
	if err == nil {
		out.Release()
	}
	return err
}

func drained(ctx context.Context, r interface {
	Next(ctx context.Context) (*table.Batch, error)
}) error {
	for {
		b, err := r.Next(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		b.Release()
	}
}

// TestBoundsThatAreTooNarrow: values of a row group or a page that is read, which lie beyond the bounds
// that are stated of it, are an error that names both where the bounds were used, of each type and by each way
// to read. Without a predicate, and in pieces, no bound is used, and all rows are given.
func TestBoundsThatAreTooNarrow(t *testing.T) {
	b := backend(t)
	for coded, props := range map[string][]parquet.WriterProperty{
		"plain":          {parquet.WithDictionaryDefault(false)},
		"dictionary":     {parquet.WithDictionaryDefault(true)},
		"pages":          {parquet.WithDictionaryDefault(false), parquet.WithPageIndexEnabled(true)},
		"pages of codes": {parquet.WithDictionaryDefault(true), parquet.WithPageIndexEnabled(true)},
		"arrow-go reads": {parquet.WithDictionaryDefault(false), parquet.WithEncodingFor("f64", parquet.Encodings.ByteStreamSplit), parquet.WithEncodingFor("f32", parquet.Encodings.ByteStreamSplit)},
	} {
		for side, truth := range map[string]func(bounded) string{
			"below": func(c bounded) string { return c.below },
			"above": func(c bounded) string { return c.above },
		} {
			footer, pages := lying(t, b, func(c bounded) string {
				if c.name == "nan" {
					return "NaN 3 5 6"
				}
				if c.name == "zero" {
					return "-0 3 5 6"
				}
				if v := truth(c); v != "" {
					return v
				}
				return c.says
			}, props...)
			files := map[string]string{"footer": footer}
			if strings.HasPrefix(coded, "pages") {
				files["page"] = pages
			}
			for lie, path := range files {
				for _, c := range boundedColumns {
					t.Run(strings.Join([]string{coded, side, lie, c.name}, ", "), func(t *testing.T) {
						narrow(t, b, path, side, lie, c, truth(c) != "")
					})
				}
				for _, p := range []*expr.Expr{expr.Col("zero").IsNotNull(), expr.Col("i64").IsNotNull()} {
					err := joined(t, b, path, p)
					if b.Device.Place() != memory.Host && (lie == "page" || expr.Columns(p)[0] != "i64") {
						require.NoError(t, err, "%s: keys stay with the join, and rows are filtered above the reader", coded)
						continue
					}
					require.ErrorContains(t, err, `column "i64"`, coded)
					require.ErrorContains(t, err, "its statistics state", coded)
				}
				if p := inPieces(t, b, path); p != nil {
					batches, err := p.Read(t.Context(), 0, nil)
					require.NoError(t, err, "%s: no bound of a piece is used", coded)
					for _, one := range batches {
						one.Release()
					}
					p.Close()
				}
				require.NoError(t, collected(t, storage.ScanParquet(path).On(b)))
			}
		}
	}
}

// narrow reads a file whose bounds of a column lie, or not.
func narrow(t *testing.T, b *kernels.Backend, path, side, lie string, c bounded, lies bool) {
	values := strings.Fields(c.says)
	a := array.NewBuilder(arrowmem.DefaultAllocator, c.of)
	defer a.Release()
	require.NoError(t, a.AppendValueFromString(values[1]))
	one := a.NewArray()
	defer one.Release()
	column, err := memory.FromArrow(one)
	require.NoError(t, err)
	defer column.Release()
	second := expr.Lit(kernels.ScalarAt(column, 0))
	predicates := []*expr.Expr{expr.Col(c.name).Ge(second)}
	switch c.name {
	case "i64":
		predicates = append(predicates, expr.Col(c.name).Eq(second))
		if lie == "footer" { // else no page is read where the dictionary has none
			predicates = append(predicates, expr.Col(c.name).Eq(4))
		}
	case "yes", "no":
		predicates[0] = expr.Col(c.name).Eq(second)
	}
	exact := b.Device.Place() == memory.Host
	for _, p := range predicates {
		for how, read := range readings {
			err := read(t, b, path, c.name, p)
			if !lies || lie == "page" && (!exact || how == "scan" || how == "filter of two columns" || c.name == "dec" || c.of.ID() == arrow.BOOL) {
				require.NoError(t, err, "%s, %s: no bound lies, or none is used", how, p)
				continue
			}
			var own *storage.Error
			require.True(t, errors.As(err, &own), "%s, %s: %v", how, p, err)
			require.ErrorIs(t, err, storage.ErrFormat)
			require.Equal(t, []string{path, c.name}, []string{own.Path, own.Name}, err)
			require.Contains(t, own.Part, "row group 0")
			require.Contains(t, own.Text, side+" ", how)
			require.Contains(t, own.Text, "its statistics state", how)
			if lie == "page" {
				require.Contains(t, own.Part, "page ")
			}
		}
	}
}

// Nulls of a row group that its statistics do not state are an error where they were used.
func TestNullsThatAreNotStated(t *testing.T) {
	b := backend(t)
	for _, coded := range []bool{false, true} {
		var contents [2][]byte
		path := filepath.Join(t.TempDir(), "nulls.parquet")
		for i, values := range [][]string{{"aaaa", "", "mmmmmmmm", "zzzz"}, {"aaaa", "mm", "nn", "zzzz"}} { // as many bytes
			all, err := table.New(b, table.Column("s", values).Valid([]bool{true, i == 1, true, true}))
			require.NoError(t, err)
			write(t, all, path, 4, parquet.WithDictionaryDefault(coded), parquet.WithStats(true))
			all.Release()
			contents[i], err = os.ReadFile(path)
			require.NoError(t, err)
		}
		_, end := tails(t, contents[0])
		_, other := tails(t, contents[1])
		require.Equal(t, end, other, "files that differ but in their values")
		require.NoError(t, os.WriteFile(path, append(contents[0][:end:end], contents[1][end:]...), 0o600))
		require.ErrorContains(t, collected(t, storage.ScanParquet(path).On(b).Filter("s > 'aa'")), `row group 0, column "s": not a well-formed file: 1 of 4 values are null, where its statistics state 0 of 4`)
		require.NoError(t, collected(t, storage.ScanParquet(path).On(b)))
	}
}
