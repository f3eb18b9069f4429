package dataloader

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/volley-go/volley/dataloader/order"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// TestOrdersByColumns holds orders by columns of tables and files to be those by
// the columns' values.
func TestOrdersByColumns(t *testing.T) {
	b, _ := onHost(t)
	const n = 1000
	weights, groups, names, bools := make([]int32, n), make([]int64, n), make([]string, n), make([]bool, n)
	wantWeights, wantGroups, wantNames, wantBools := make([]float64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i := range n {
		weights[i], wantWeights[i] = int32(i%7), float64(i%7)
		groups[i], wantGroups[i] = int64(100-i/50), int64(i/50) // numbered as they come
		names[i], wantNames[i] = []string{"b", "a", ""}[i%3], int64(i%3)
		if bools[i] = i%2 == 0; !bools[i] {
			wantBools[i] = 1
		}
	}
	all := made(t, b, table.Column("w", weights), table.Column("g", groups), table.Column("n", names), table.Column("b", bools))
	path := filepath.Join(t.TempDir(), "rows.parquet")
	if err := storage.WriteParquet(ctx, all, path, storage.ParquetOptions{RowGroupRows: 300}); err != nil {
		t.Fatal(err)
	}
	weighted, err := order.Weighted(wantWeights, 300, 9)
	if err != nil {
		t.Fatal(err)
	}
	for at, rows := range map[string]*table.Query{"table": table.From(all), "file": storage.ScanParquet(path).On(b)} {
		for name, one := range map[string]struct {
			want order.Order
			make func() (order.Order, error)
		}{
			"weights": {weighted, func() (order.Order, error) { return WeightedBy(ctx, rows, "w", 300, 9) }},
			"groups":  {order.Grouped(wantGroups, 9), func() (order.Order, error) { return GroupedBy(ctx, rows, "g", 9) }},
			"texts":   {order.Stratified(wantNames, 9), func() (order.Order, error) { return StratifiedBy(ctx, rows, "n", 9) }},
			"bools":   {order.Stratified(wantBools, 9), func() (order.Order, error) { return StratifiedBy(ctx, rows, "b", 9) }},
		} {
			got, err := one.make()
			if err != nil {
				t.Fatalf("%s, %s: %v", at, name, err)
			}
			a, b := make([]int64, 300), make([]int64, 300)
			got.Fill(a, 1, 17)
			one.want.Fill(b, 1, 17)
			if got.Hash() != one.want.Hash() || got.Len() != one.want.Len() || !slices.Equal(a, b) {
				t.Errorf("%s: the order by %s is another than that of the values", at, name)
			}
		}
		if whole, err := WeightedBy(ctx, rows, "w", 0, 9); err != nil || whole.Len() != n {
			t.Errorf("%s: as many draws as rows: %v", at, err)
		}
		for column, want := range map[string]error{"n": device.ErrUnsupported, "nothing": device.ErrMismatch} {
			if _, err := WeightedBy(ctx, rows, column, 0, 9); !errors.Is(err, want) || !strings.Contains(err.Error(), column) {
				t.Errorf("%s: weights %s: %v", at, column, err)
			}
		}
	}
}

// TestNullsInOrders holds a null to be no weight, and a class of its own.
func TestNullsInOrders(t *testing.T) {
	b, _ := onHost(t)
	all := made(t, b, table.Column("w", []int64{5, 0, 5, 0}).Valid([]bool{true, false, true, false}), table.Column("f", []float64{1, 2, 3, 4}))
	if _, err := WeightedBy(ctx, table.From(all), "w", 0, 1); !errors.Is(err, device.ErrMismatch) || !strings.Contains(err.Error(), "row 1") {
		t.Errorf("a null weight: %v", err)
	}
	by, err := GroupedBy(ctx, table.From(all), "w", 1)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]int64, 4)
	by.Fill(rows, 0, 0)
	if !slices.Equal(rows, []int64{0, 2, 1, 3}) && !slices.Equal(rows, []int64{1, 3, 0, 2}) {
		t.Errorf("groups of 5 and null come as %v", rows)
	}
	if _, err := StratifiedBy(ctx, table.From(all), "f", 1); !errors.Is(err, device.ErrUnsupported) || !strings.Contains(err.Error(), `"f"`) {
		t.Errorf("classes of floats: %v", err)
	}
}
