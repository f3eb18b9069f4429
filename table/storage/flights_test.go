package storage_test

import (
	"context"
	"testing"

	"github.com/volley-go/volley/memory"
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
	for _, c := range got.Chunks() {
		for _, d := range memory.Values[int64](c.ColumnNamed("distance")) {
			if d >= 500 {
				far++
			}
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
