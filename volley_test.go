package volley_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"testing"

	"github.com/volley-go/volley"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/expr"
	"github.com/volley-go/volley/table"
)

func TestOpen(t *testing.T) {
	for _, name := range []string{"auto", "cpu"} {
		b, err := volley.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if b.Device.Name() != "cpu" {
			t.Errorf("%s opened %s", name, b.Device.Name())
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"", "gpu", "cpu:1", "cuda:0"} {
		if _, err := volley.Open(name); !errors.Is(err, device.ErrUnavailable) {
			t.Errorf("%q: %v is no ErrUnavailable", name, err)
		}
	}
	t.Setenv("VOLLEY_CPU", "none such")
	for _, name := range []string{"auto", "cpu"} {
		if _, err := volley.Open(name); !errors.Is(err, device.ErrUnavailable) {
			t.Errorf("%s with an unknown tier: %v", name, err)
		}
	}
	if found := volley.Devices(); len(found) != 1 || !errors.Is(found[0].Err, device.ErrUnavailable) {
		t.Errorf("devices with an unknown tier: %v", found)
	}
}

func TestDevices(t *testing.T) {
	found := volley.Devices()
	if len(found) == 0 || found[0].Err != nil || found[0].Kind != "cpu" || found[0].Info.Name != "cpu" || found[0].Info.Units < 1 || found[0].Info.Tier == "" {
		t.Errorf("devices %+v", found)
	}
	if volley.Version() == "" {
		t.Error("no version")
	}
}

func Example() {
	ctx := context.Background()
	dev, err := volley.Open("auto")
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	flights, err := table.New(dev,
		table.Column("origin", []string{"JFK", "SFO", "JFK", "CPR", "SFO"}),
		table.Column("distance", []int32{2475, 337, 187, 230, 2586}),
		table.Column("delay", []int16{14, -3, 45, 160, 22}))
	if err != nil {
		log.Fatal(err)
	}
	defer flights.Release()
	airports, err := table.New(dev,
		table.Column("iata", []string{"JFK", "SFO", "CPR"}),
		table.Column("state", []string{"NY", "CA", "WY"}))
	if err != nil {
		log.Fatal(err)
	}
	defer airports.Release()
	late, err := table.From(flights).
		Filter(expr.Col("distance").Ge(200)). // or .Filter("distance >= 200")
		Join(airports, table.Inner, table.Keys("origin", "iata")).
		GroupBy("state").Agg(table.Count(), table.Mean("delay"), table.Max("delay")).
		Sort(table.Desc("mean_delay"), table.Asc("state")).
		Collect(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer late.Release()
	fmt.Print(late)
	// Output:
	// state  count  mean_delay  max_delay
	// utf8   int64     float64      int16
	// WY         1       160.0        160
	// NY         1        14.0         14
	// CA         2         9.5         22
	// 3 rows × 4 columns
}
