package flights

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/table"
)

func TestBadFiles(t *testing.T) {
	f, here, dir := writeSmall(t), onHost(t), t.TempDir()
	lacking, wrongType := filepath.Join(dir, "lacking.parquet"), filepath.Join(dir, "type.parquet")
	now, one := []time.Time{time.Unix(0, 0)}, []int64{1}
	writeTable(t, here, lacking, table.Column("date", now), table.Column("delay", one), table.Column("origin", []string{"AAA"}))
	writeTable(t, here, wrongType, table.Column("date", now), table.Column("delay", one), table.Column("distance", []string{"far"}), table.Column("origin", []string{"AAA"}))
	text := func(name, s string) string {
		path := filepath.Join(dir, name)
		writeText(t, path, s)
		return path
	}
	whole, err := os.ReadFile(f.data)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ data, airports, file, what string }{
		{filepath.Join(dir, "none.parquet"), f.airports, "none.parquet", "no such file"},
		{f.data, filepath.Join(dir, "none.csv"), "none.csv", "no such file"},
		{lacking, f.airports, "lacking.parquet", "distance"},
		{wrongType, f.airports, "type.parquet", "distance"},
		{text("text.parquet", "no Parquet"), f.airports, "text.parquet", ""},
		{text("cut.parquet", string(whole[:len(whole)/2])), f.airports, "cut.parquet", ""},
		{f.data, text("lacking.csv", "iata,state,latitude\nAAA,XX,1.5\n"), "lacking.csv", "longitude"},
		{f.data, text("type.csv", "iata,state,latitude,longitude\nAAA,XX,north,1.5\n"), "type.csv", "latitude"},
		{f.data, text("others.csv", "iata,state,latitude,longitude\nQQQ,XX,1.5,2.5\n"), "others.csv", "nothing to fit"},
		{f.data, text("ragged.csv", "iata,state,latitude,longitude\nAAA,XX\n"), "ragged.csv", "2"},
	} {
		o := f.options(here, here)
		o.Data, o.Airports = c.data, c.airports
		err := Run(context.Background(), o, new(sink), progress.Nothing())
		if err == nil || !strings.Contains(err.Error(), c.file) || !strings.Contains(err.Error(), c.what) {
			t.Errorf("%s: %v; want %q", c.file, err, c.what)
		}
	}
	if err := Run(context.Background(), f.options(nil, here), new(sink), progress.Nothing()); err == nil {
		t.Error("no host is not noticed")
	}
}

func TestCancelled(t *testing.T) {
	f, here := writeSmall(t), onHost(t)
	there, _ := apart(t)
	for _, at := range []string{"", "read", "transfer", "query, volley", "fit, volley", "query, reference", "fit, reference"} {
		ctx, cancel := context.WithCancel(context.Background())
		s := new(sink)
		err := Run(ctx, f.options(here, there), s, stopper{progress.Nothing(), at, cancel})
		cancel()
		if !errors.Is(err, context.Canceled) && !errors.Is(err, device.ErrCanceled) {
			t.Errorf("cancelled at %q: %v", at, err)
		}
		if len(s.answers) > 0 {
			t.Errorf("cancelled at %q: answers", at)
		}
	}
}

// TestDeviceFailures fails each allocation, then each piece of work, of a
// device with memory of its own.
func TestDeviceFailures(t *testing.T) {
	f, here := writeSmall(t), onHost(t)
	steps := func(fail func(*devicetest.Fake)) (*devicetest.Fake, error) {
		there, fake := apart(t)
		fail(fake)
		o := f.options(here, there)
		o.Runs = 1
		s := &suite{Options: o, to: new(sink), p: progress.Nothing()}
		_, err := s.engine(context.Background(), engine{"volley", there, 1})
		return fake, err
	}
	well, err := steps(func(*devicetest.Fake) {})
	if err != nil {
		t.Fatal(err)
	}
	allocations, calls := well.Allocations(), well.Calls()
	if allocations < 20 || calls < 10 {
		t.Fatalf("%d allocations, %d calls", allocations, calls)
	}
	for n := int64(0); n < allocations*9/10; n += 1 + n/8 { // how many there are depends on the pool's threads
		fake, err := steps(func(fake *devicetest.Fake) { fake.FailAllocations(n) })
		if !errors.Is(err, device.ErrOutOfMemory) {
			t.Errorf("allocation %d of %d: %v", n, allocations, err)
		}
		if fake.InUse() != 0 {
			t.Errorf("allocation %d: %d bytes left", n, fake.InUse())
		}
	}
	for n := range calls {
		if _, err := steps(func(fake *devicetest.Fake) { fake.LoseAfter(n) }); !errors.Is(err, device.ErrLost) {
			t.Errorf("call %d of %d: %v", n, calls, err)
		}
	}
}
