package flights

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/device/devicetest"
	"github.com/volley-go/volley/device/host"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/cpu"
	"github.com/volley-go/volley/kernels/kerneltest"
	"github.com/volley-go/volley/memory"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// sink keeps what a suite finds.
type sink struct {
	records []report.Record
	answers []report.Answer
}

func (s *sink) Record(r report.Record) error { s.records = append(s.records, r); return nil }
func (s *sink) Answer(a report.Answer) error { s.answers = append(s.answers, a); return nil }

// find gives the record of an engine's step on a device.
func (s *sink) find(t *testing.T, engine, device, op string) report.Record {
	t.Helper()
	for _, r := range s.records {
		if r.Engine == engine && r.Device == device && r.Op == op {
			return r
		}
	}
	t.Fatalf("no record of %s, %s on %s among %+v", op, engine, device, s.records)
	return report.Record{}
}

// over is a backend over counted memory: the test fails on a leak. wrap puts
// something round the host device.
func over(t *testing.T, wrap func(device.Device) device.Device) *kernels.Backend {
	t.Helper()
	counted, before := memory.NewTraced(memory.Heap), memory.OverReleases()
	b, err := cpu.New(wrap(host.New(host.WithAllocator(counted))))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := counted.Check(); err != nil {
			t.Error(err)
		}
		if n := memory.OverReleases() - before; n != 0 {
			t.Errorf("%d releases too many", n)
		}
	})
	return b
}

// remote is a backend on a device whose memory the host cannot address.
func remote(t *testing.T) *kernels.Backend {
	t.Helper()
	b := kerneltest.Remote(memory.Place{Type: memory.CUDA}, cpu.Generic())
	t.Cleanup(func() {
		if n := b.Device.(*devicetest.Remote).InUse(); n != 0 {
			t.Errorf("%d bytes are left on %s", n, b.Device.Name())
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func onHost(t *testing.T) *kernels.Backend {
	return over(t, func(d device.Device) device.Device { return d })
}

// separate is a device that says that its memory is not the host's.
type separate struct{ device.Device }

func (s separate) Name() string { return "apart" }

func (s separate) Info() device.Info {
	i := s.Device.Info()
	i.Name, i.Unified = s.Name(), false
	return i
}

func apart(t *testing.T) (*kernels.Backend, *devicetest.Fake) {
	var fake *devicetest.Fake
	b := over(t, func(d device.Device) device.Device {
		fake = devicetest.NewFake(separate{d})
		return fake
	})
	return b, fake
}

// small is flights and airports made for a test: delays that the terms of the
// fit explain wholly, distances of 500 among them, and origins without an
// airport.
type small struct{ data, airports string }

const smallRows = 3000

// origins are airports with their state, latitude and longitude.
var origins = []struct {
	iata, state         string
	latitude, longitude float64
}{{"AAA", "XX", 10, 20}, {"BBB", "YY", 30, -40}, {"CCC", "XX", -50, 60}, {"DDD", "ZZ", 45, 90}}

// flight is row i of the small flights.
func flight(i int) (date time.Time, delay, distance int64, origin string) {
	hour, a := i%24, i%len(origins)
	if origin = origins[a].iata; i%100 == 99 {
		origin = "???"
	}
	distance = int64(250 * (1 + i*7%11))
	// 24, 1000, 90 and 180 are the units of the terms.
	delay = int64(7*hour-30) + distance/250 + int64(origins[a].latitude) - int64(origins[a].longitude)/10
	return time.Date(2001, 1, 1+i%28, hour, i%60, 0, 0, time.UTC), delay, distance, origin
}

func writeSmall(t *testing.T) small {
	t.Helper()
	b, dir := onHost(t), t.TempDir()
	var date []time.Time
	var delay, distance []int64
	var origin []string
	for i := range smallRows {
		d, late, far, from := flight(i)
		date, delay, distance, origin = append(date, d), append(delay, late), append(distance, far), append(origin, from)
	}
	f := small{filepath.Join(dir, "f.parquet"), filepath.Join(dir, "airports.csv")}
	writeTable(t, b, f.data, table.Column("date", date), table.Column("delay", delay), table.Column("distance", distance), table.Column("origin", origin))
	text := "iata,state,latitude,longitude\n"
	for _, o := range origins {
		text += fmt.Sprintf("%s,%s,%.1f,%.1f\n", o.iata, o.state, o.latitude, o.longitude)
	}
	writeText(t, f.airports, text)
	return f
}

func writeTable(t *testing.T, b *kernels.Backend, path string, columns ...table.Series) {
	t.Helper()
	made, err := table.New(b, columns...)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Release()
	if err := storage.WriteParquet(context.Background(), made, path, storage.ParquetOptions{RowGroupRows: 1000}); err != nil {
		t.Fatal(err)
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func (f small) options(host *kernels.Backend, on ...*kernels.Backend) Options {
	return Options{Data: f.data, Airports: f.airports, Backends: on, Host: host, Runs: 2, Threads: 2}
}

// stopper is a Progress that calls stop when a piece of work of that beginning
// starts.
type stopper struct {
	progress.Progress
	at   string
	stop func()
}

func (s stopper) Start(name string, total int64) {
	if len(name) >= len(s.at) && name[:len(s.at)] == s.at {
		s.stop()
	}
	s.Progress.Start(name, total)
}
