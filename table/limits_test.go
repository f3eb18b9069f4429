package table

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/stretchr/testify/require"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/internal/backends"
)

// smallMorsels are numbers of rows of a morsel.
var smallMorsels = []int{1, 3, 16, 100}

// TestSmallMorsels: queries give the same rows, in the same order, when every limit is so
// small that morsels are cut and aggregated by themselves, pieces are shrunk, sides are
// joined whole. Floats that are added in another order differ in the last digits.
func TestSmallMorsels(t *testing.T) {
	b := testBackend(t)
	rows, sizes := 3000, smallMorsels
	if testing.Short() {
		rows = 1000
	}
	if !backends.OnHost() { // nothing is cut there, and each piece is a launch
		rows, sizes = 600, smallMorsels[2:3]
	}
	whole, right := uneven(t, b, rows, 5), uneven(t, b, rows/10, 6)
	for _, tables := range [][2]*Table{{whole, right}, {cut(t, whole), cut(t, right)}} {
		plans := unevenPlans(tables[0], tables[1])
		plans["steps"] = From(tables[0]).WithColumn("z", "d * 2").Filter("z > 100").WithColumn("w", "z + few").
			Join(tables[1], Inner, On("few")).Filter("w % 3 = 0").GroupBy("s").Agg(Sum("w"), Mean("w"), Count(), Min("d_right"))
		plans["sides of decimals"] = From(tables[0]).WithColumn("price", expr.Col("d").Cast(&arrow.Decimal128Type{Precision: 12, Scale: 2})).
			WithColumn("cost", "price * 3 - 1").GroupBy("few", "s").Agg(Sum("price"), Mean("price"), Sum("cost"), Mean("cost"), Count("cost"), Max("cost"))
		delete(plans, "aggregate") // of sums whose terms cancel out, few digits are sure
		delete(plans, "aggregate filtered")
		for name, q := range plans {
			t.Setenv(morselVariable, "")
			want, err := q.Collect(t.Context())
			require.NoError(t, err, name)
			for _, rows := range sizes {
				t.Setenv(morselVariable, strconv.Itoa(rows))
				got, err := q.Collect(t.Context())
				require.NoError(t, err, name)
				nearRows(t, fmt.Sprintf("%s, morsels of %d", name, rows), want, got)
				got.Release()
			}
			want.Release()
		}
	}
}

// nearRows holds tables against each other, floats as near as sums in another order are.
func nearRows(t *testing.T, name string, want, got *Table) {
	t.Helper()
	require.Equal(t, want.NumRows(), got.NumRows(), name)
	if want.NumRows() == 0 {
		return
	}
	w, g := wholeColumns(t, want), wholeColumns(t, got)
	for i := range w {
		field := want.Schema().Field(i)
		if !arrow.IsFloating(field.Type.ID()) {
			require.Truef(t, array.Equal(w[i], g[i]), "%s: column %s: %v, not %v", name, field.Name, g[i], w[i])
			continue
		}
		scale := 0.0
		for row := range w[i].Len() {
			if v := floatAt(w[i], row); !math.IsNaN(v) && !math.IsInf(v, 0) {
				scale = max(scale, math.Abs(v))
			}
		}
		for row := range w[i].Len() {
			require.Equal(t, w[i].IsNull(row), g[i].IsNull(row), "%s: %s of row %d", name, field.Name, row)
			a, c := floatAt(w[i], row), floatAt(g[i], row)
			if a == c || math.IsNaN(a) && math.IsNaN(c) {
				continue
			}
			require.InDelta(t, a, c, 1e-6*scale, "%s: %s of row %d", name, field.Name, row)
		}
	}
}

func floatAt(a arrow.Array, row int) float64 {
	switch a := a.(type) {
	case *array.Float64:
		return a.Value(row)
	case *array.Float32:
		return float64(a.Value(row))
	}
	return math.NaN()
}

// TestMorselRows: what is no number of rows is an error that names the variable.
func TestMorselRows(t *testing.T) {
	b := testBackend(t)
	table, err := New(b, Column("x", []int64{1}))
	require.NoError(t, err)
	defer table.Release()
	for _, text := range []string{"0", "-1", "many", "65537", " 3"} {
		t.Setenv(morselVariable, text)
		_, err := From(table).Collect(context.Background())
		require.ErrorIs(t, err, device.ErrMismatch)
		require.ErrorContains(t, err, morselVariable)
	}
}
