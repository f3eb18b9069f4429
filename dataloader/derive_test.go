package dataloader

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// TestDerive normalises, fills and casts, over memory, files and windows, beside
// the same query over the table.
func TestDerive(t *testing.T) {
	b, a := onHost(t)
	const rows = 300
	x, y, valid := make([]float64, rows), make([]int32, rows), make([]bool, rows)
	for i := range x {
		x[i], y[i], valid[i] = float64(i)/3, int32(i%17), i%5 != 2
	}
	all := made(t, b, table.Column("x", x).Valid(valid), table.Column("y", y), table.Column("unused", make([]string, rows)))
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := storage.WriteParquet(ctx, all, path, storage.ParquetOptions{RowGroupRows: 50}); err != nil {
		t.Fatal(err)
	}
	columns := []Column{
		{"z", expr.Coalesce(expr.Col("x"), -1).Sub(9.5).Div(3)}, {"small", expr.Col("y").Lt(5).Cast(arrow.PrimitiveTypes.Int8)},
		{"x", expr.Col("x")}, {"half", expr.Col("y").Cast(arrow.PrimitiveTypes.Float32).Mul(0.5)},
	}
	whole, err := all.Query().Select(columns[0].Expr.As("z"), columns[1].Expr.As("small"), columns[2].Expr.As("x"), columns[3].Expr.As("half")).Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Release()
	for name, s := range map[string]Source{"table": FromTable(all), "files": opened(t, b, storage.Parquet(path), FileOptions{})} {
		d, err := Derive(b, s, columns...)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range []Options{{Shuffle: true}, {Window: &Window{History: 4, Horizon: 2}, Labels: []string{"z"}}, {Layout: Columns}} {
			o.Batch, o.Epochs, o.Masks, o.Workers, o.Memory = 37, 2, true, i-1, a
			l := load(t, d, o)
			same(t, fmt.Sprint(name, i), l, load(t, FromTable(whole), o))
			if _, err := l.State(ctx); err != nil {
				t.Error(err)
			}
		}
		l := load(t, d, Options{Batch: 37, Memory: a, Workers: 1})
		if _, err := l.Next(ctx); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), `column "x" has 7 nulls`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for want, c := range map[string][]Column{
		"no column":     nil,
		"named twice":   {columns[0], columns[0]},
		"over numbers":  {{"u", expr.Col("unused").Eq("a")}},
		"does not know": {{"u", expr.Col("nothing")}},
	} {
		if _, err := Derive(b, FromTable(all), c...); err == nil || want != "does not know" && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestDeriveBeside mixes columns of the source, plain and encoded, with derived
// ones in the matrices, beside the same query over the table.
func TestDeriveBeside(t *testing.T) {
	b, a := onHost(t)
	const rows = 300
	x, y, z := make([]float64, rows), make([]int32, rows), make([]string, rows)
	for i := range x {
		x[i], y[i], z[i] = float64(i)/3, int32(i%17), string(rune('a'+i%3))
	}
	all := made(t, b, table.Column("x", x), table.Column("y", y), table.Column("z", z))
	path := filepath.Join(t.TempDir(), "x.parquet")
	if err := storage.WriteParquet(ctx, all, path, storage.ParquetOptions{RowGroupRows: 50}); err != nil {
		t.Fatal(err)
	}
	columns := []Column{{"y", expr.Col("y").Mul(2)}, {"w", expr.Col("x").Add(expr.Col("y"))}}
	whole, err := all.Query().Select("x", "z", columns[0].Expr.As("y"), columns[1].Expr.As("w")).Collect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Release()
	var begun atomic.Int64
	stream, err := FromBatches(b, all.Schema(), rows, pieces(all, 40, &begun), StreamOptions{Piece: 60})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Source{"table": FromTable(all), "files": opened(t, b, storage.Parquet(path), FileOptions{}), "stream": stream} {
		d, err := DeriveBeside(b, s, columns...)
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range []Options{
			{Features: []string{"w", "z", "x", "y"}}, {Layout: ColumnMajor, Masks: true, Labels: []string{"w", "x"}}, {Layout: Columns},
			{Features: []string{"x", "y"}, Window: &Window{History: 4, Horizon: 2}, Labels: []string{"w", "x"}},
		} {
			o.Encode = map[string]*Encoding{"z": OneHot("c", "b", "a")}
			o.Batch, o.Epochs, o.Workers, o.Memory, o.Shuffle = 37, 2, i-1, a, name != "stream"
			l := load(t, d, o)
			same(t, fmt.Sprint(name, i), l, load(t, FromTable(whole), o))
			if _, err := l.State(ctx); err != nil {
				t.Error(err)
			}
		}
	}
	other, err := DeriveBeside(b, FromTable(whole), Column{"y", expr.Col("y").Mul(1)}, Column{"w", expr.Col("x")})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := DeriveBeside(b, FromTable(whole), Column{"y", expr.Col("y").Mul(2)}, Column{"w", expr.Col("x")})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Features: []string{"x", "y"}, Batch: 7, Memory: a}
	state, err := load(t, other, o).State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(ctx, kept, o, state); !errors.Is(err, device.ErrMismatch) || !strings.HasSuffix(err.Error(), "have changed: the expressions, or the function of batches") {
		t.Errorf("another expression: %v", err)
	}
}
