package storage_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// groups writes ten row groups of ten rows: of each type the values 0 to 99 in
// order, as that type has them, nulls in the last group only, and a float
// column with NaN in every group.
func groups(t testing.TB, b *kernels.Backend) string {
	t.Helper()
	types := []arrow.DataType{arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int64,
		arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String, arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Microsecond},
		&arrow.Decimal128Type{Precision: 20, Scale: 1}, arrow.PrimitiveTypes.Float32}
	names := []string{"i8", "u32", "u64", "i64", "f64", "s", "d", "t", "dec", "nan"}
	var fields []arrow.Field
	var columns []*memory.Column
	for k, typ := range types {
		fields = append(fields, arrow.Field{Name: names[k], Type: typ, Nullable: true})
		a := array.NewBuilder(arrowmem.DefaultAllocator, typ)
		for i := range 100 {
			text := fmt.Sprint(i)
			switch {
			case i >= 95 && names[k] != "nan":
				a.AppendNull()
				continue
			case names[k] == "u32":
				text = fmt.Sprint(math.MaxUint32 - 99 + uint32(i))
			case names[k] == "u64":
				text = fmt.Sprint(math.MaxUint64 - 99 + uint64(i))
			case names[k] == "i64":
				text = fmt.Sprint(i - 50)
			case names[k] == "s":
				text = fmt.Sprintf("key %02d", i)
			case names[k] == "d":
				text = fmt.Sprintf("20%02d-01-01", i)
			case names[k] == "t":
				text = fmt.Sprintf("20%02d-01-01 00:00:00", i)
			case names[k] == "dec":
				text = fmt.Sprintf("%d.5", i-50)
			case names[k] == "nan" && i%3 == 0:
				text = "NaN"
			}
			if err := a.AppendValueFromString(text); err != nil {
				t.Fatal(err)
			}
		}
		values := a.NewArray()
		a.Release()
		c, err := memory.FromArrow(values)
		if err != nil {
			t.Fatal(err)
		}
		values.Release()
		columns = append(columns, c)
	}
	schema := arrow.NewSchema(fields, nil)
	batch, err := table.NewBatch(schema, 100, columns)
	if err != nil {
		t.Fatal(err)
	}
	w, err := table.NewTable(b, schema, []*table.Batch{batch})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Release()
	path := filepath.Join(t.TempDir(), "groups.parquet")
	if err := storage.WriteParquet(context.Background(), w, path, storage.ParquetOptions{RowGroupRows: 10}); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPrune counts the row groups that each predicate leaves out, and checks
// that the rows that pass are the same with and without.
func TestPrune(t *testing.T) {
	b := backend(t)
	ctx := context.Background()
	path := groups(t, b)
	for _, c := range []struct {
		text    string
		skipped int
		rows    int64
	}{
		{"i8 < 10", 9, 10},
		{"i8 >= 35 and i8 < 45", 8, 10},
		{"i8 = 200", 10, 0},
		{"i8 in (5, 77)", 8, 2},
		{"i8 <> 5", 0, 94},
		{"10 > i8 or i8 > 85", 7, 19},
		{"i64 < -40", 9, 10},
		{"u32 >= 4294967290", 9, 1},
		{"u32 < 4294967206", 9, 10},
		{"u64 >= 18446744073709551600", 8, 11},
		{"f64 between 20 and 29.5", 9, 10},
		{"s = 'key 42'", 9, 1},
		{"s < 'key'", 10, 0},
		{"s >= 'key 90'", 9, 5},
		{"d >= '2085-01-01'", 8, 10},
		{"t < '2010-01-01'", 9, 10},
		{"dec < -40.5", 9, 10},
		{"i8 is null", 9, 5},
		{"s is not null", 0, 95},
		{"nan > 85", 8, 9},
		{"not (i8 < 90)", 9, 5},
	} {
		predicate, err := expr.Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		skipped, total, err := storage.Parquet(path).Skipped(ctx, predicate)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if skipped != c.skipped || total != 10 {
			t.Errorf("%s: %d of %d row groups are left out, not %d", c.text, skipped, total, c.skipped)
		}
		got, err := storage.ScanParquet(path).On(b).Filter(predicate).Collect(ctx)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		whole := read(t, b, path)
		want, err := table.From(whole).Filter(predicate).Collect(ctx)
		whole.Release()
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, want)
		if c.rows != got.NumRows() {
			t.Errorf("%s: %d rows, not %d", c.text, got.NumRows(), c.rows)
		}
		got.Release()
		want.Release()
	}
	_, _, err := storage.Parquet(path).Skipped(ctx, expr.Col("i9").Gt(1))
	wantError(t, err, device.ErrMismatch, path, "did you mean i8?")
}
