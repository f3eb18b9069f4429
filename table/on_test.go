package table

import (
	"errors"
	"testing"

	"github.com/volley-go/volley/device"
)

// TestOn: a query over sources runs where the last On says, however often it
// was said; one that reads tables runs on theirs.
func TestOn(t *testing.T) {
	b := testBackend(t)
	elsewhere := *b // another backend, as far as queries know
	table := tableOf(t, b, randomRecs(30, 5, 1), 2, 1)
	var asked []ScanOptions
	source := Scan(memorySource{table: table, asked: &asked})
	if source.Backend() != nil || From(table).Backend() != b {
		t.Fatal("a source has a backend, or a table has none")
	}
	moved := source.On(&elsewhere).Filter("id >= 0").On(b)
	if moved.Err() != nil || moved.Backend() != b {
		t.Fatalf("a query over a source does not move: %v", moved.Err())
	}
	got, err := moved.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got.Release()
	for name, q := range map[string]*Query{
		"a table":               From(table).On(&elsewhere),
		"what was derived":      From(table).Filter("id >= 0").On(&elsewhere),
		"a source and a table":  source.Join(table, Inner, On("id")).On(&elsewhere),
		"a union with a table":  source.Union(table).On(&elsewhere),
		"a source on elsewhere": source.On(&elsewhere).Join(table, Inner, On("id")),
		"no backend":            source.On(nil),
	} {
		if !errors.Is(q.Err(), device.ErrMismatch) {
			t.Errorf("%s: %v", name, q.Err())
		}
	}
}
