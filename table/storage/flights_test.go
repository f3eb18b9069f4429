package storage_test

import (
	"context"
	"testing"

	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

func TestFlights(t *testing.T) {
	b := backend(t)
	got, err := storage.ReadParquet(context.Background(), b, flights, storage.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if got.NumRows() != 1_000_000 || got.NumColumns() != 5 {
		t.Fatalf("%d rows, %d columns", got.NumRows(), got.NumColumns())
	}
	far := 0
	distances, err := table.Values[int64](got, "distance")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range distances {
		if d >= 500 {
			far++
		}
	}
	if far != 543_872 {
		t.Errorf("%d flights of at least 500 miles, not 543872", far)
	}
}

func TestAirports(t *testing.T) {
	b := backend(t)
	got := read(t, b, airports)
	defer got.Release()
	if got.NumRows() != 3376 {
		t.Errorf("%d airports, not 3376", got.NumRows())
	}
	want := "schema:\n  fields: 7\n    - iata: type=utf8, nullable\n    - name: type=utf8, nullable\n    - city: type=utf8, nullable\n    - state: type=utf8, nullable\n    - country: type=utf8, nullable\n    - latitude: type=float64, nullable\n    - longitude: type=float64, nullable"
	if s := got.Schema().String(); s != want {
		t.Errorf("the schema is\n%s", s)
	}
}

// TestFlightsQuery runs the query that the package is for.
func TestFlightsQuery(t *testing.T) {
	b := backend(t)
	got, err := storage.ScanParquet(flights).On(b).
		Filter(expr.Col("distance").Ge(500)).
		Join(storage.ScanCSV(storage.CSVOptions{}, airports), table.Inner, table.Keys("origin", "iata")).
		GroupBy("state").Agg(table.Count(), table.Mean("delay"), table.Max("delay")).
		Sort(table.Desc("mean_delay"), table.Asc("state")).
		Collect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if got.NumRows() != 48 {
		t.Fatalf("%d states, not 48", got.NumRows())
	}
	var rows int64
	counts, err := table.Values[int64](got, "count")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range counts {
		rows += n
	}
	if rows != 543_872 {
		t.Errorf("%d flights in the groups, not 543872", rows)
	}
	if first := flatten(t, got, 0); first.ValueStr(0) != "WY" || first.ValueStr(47) != "MT" {
		t.Errorf("the first state is %s, the last %s", first.ValueStr(0), first.ValueStr(47))
	}
}

func BenchmarkReadFlights(b *testing.B) {
	bk := backend(b)
	for b.Loop() {
		got, err := storage.ReadParquet(context.Background(), bk, flights, storage.ReadOptions{})
		if err != nil {
			b.Fatal(err)
		}
		got.Release()
	}
}
