package flights

import (
	"context"
	"fmt"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// field is a column that the suite needs of a file.
type field struct {
	name string
	is   func(arrow.Type) bool
	kind string // what is asks for, in words
}

func isText(id arrow.Type) bool { return id == arrow.STRING || id == arrow.LARGE_STRING }

func isTime(id arrow.Type) bool { return id == arrow.TIMESTAMP }

func isFloat(id arrow.Type) bool { return id == arrow.FLOAT64 }

var flightFields = []field{
	{"date", isTime, "timestamps"}, {"delay", arrow.IsInteger, "integers"},
	{"distance", arrow.IsInteger, "integers"}, {"origin", isText, "texts"},
}

var airportFields = []field{
	{"iata", isText, "texts"}, {"state", isText, "texts"},
	{"latitude", isFloat, "float64"}, {"longitude", isFloat, "float64"},
}

// has checks the columns of a file, so that what is wrong is said of the file
// and not of a step that works on it.
func has(path string, t *table.Table, fields []field) error {
	for _, f := range fields {
		i := slices.IndexFunc(t.Schema().Fields(), func(g arrow.Field) bool { return g.Name == f.name })
		if i < 0 {
			return fmt.Errorf("%s: there is no column %q", path, f.name)
		}
		if typ := t.Schema().Field(i).Type; !f.is(typ.ID()) {
			return fmt.Errorf("%s: column %q is of type %s, %s are needed", path, f.name, typ, f.kind)
		}
	}
	return nil
}

// data are the two tables in the memory of an engine's device.
type data struct {
	flights, airports *table.Table
	width             int64 // bytes of the flights' values
}

func (d *data) release() {
	d.flights.Release()
	d.airports.Release()
}

// load reads the files where the engine's device can work on them: into host
// memory, and from there, where that is another, into the device's.
func (s *suite) load(ctx context.Context, e engine) (_ *data, err error) {
	on := e.backend
	if e.moves() {
		on = s.Host
	}
	d := new(data)
	defer func() {
		if err != nil {
			d.release()
		}
	}()
	if d.flights, err = s.read(ctx, e, on); err != nil {
		return nil, err
	}
	if err := has(s.Data, d.flights, flightFields); err != nil {
		return nil, err
	}
	if d.airports, err = storage.ReadCSV(ctx, on, s.Airports, storage.CSVOptions{}, storage.ReadOptions{}); err != nil {
		return nil, err
	}
	if err := has(s.Airports, d.airports, airportFields); err != nil {
		return nil, err
	}
	d.width = bytesOf(d.flights)
	if !e.moves() {
		return d, nil
	}
	there, err := s.transfer(ctx, e, d)
	if err != nil {
		return nil, fmt.Errorf("transfer: %w", err)
	}
	d.release()
	return there, nil
}

// read reads the flights, timed.
func (s *suite) read(ctx context.Context, e engine, on *kernels.Backend) (*table.Table, error) {
	info, err := os.Stat(s.Data)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(flightFields))
	for i, f := range flightFields {
		names[i] = f.name
	}
	load := func(ctx context.Context) (*table.Table, error) {
		return storage.ReadParquet(ctx, on, s.Data, storage.ReadOptions{Columns: names})
	}
	if e.name == "reference" { // reading is not a kernel: nothing to compare
		return load(ctx)
	}
	t, timing, err := s.keepLast(ctx, "read "+s.Data, load)
	if err != nil {
		return nil, err
	}
	r := s.record(e, "read", t.NumRows())
	r.SetTiming(timing)
	r.SetBytes(info.Size(), 0)
	if err := s.to.Record(r); err != nil {
		t.Release()
		return nil, err
	}
	return t, nil
}

// keepLast times the making of a table and keeps that of the last run.
func (s *suite) keepLast(ctx context.Context, what string, load func(context.Context) (*table.Table, error)) (*table.Table, report.Timing, error) {
	var last *table.Table
	s.p.Start(what, int64(s.Runs))
	timing, err := report.Measure(ctx, s.Runs, func(ctx context.Context) error {
		last.Release()
		last = nil
		t, err := load(ctx)
		last = t
		s.p.Add(1)
		return err
	})
	s.p.Done()
	if err != nil {
		last.Release()
		last = nil
	}
	return last, timing, err
}

// transfer copies the tables into the memory of the engine's device, timed for
// the flights.
func (s *suite) transfer(ctx context.Context, e engine, d *data) (*data, error) {
	stream, err := e.backend.NewStream()
	if err != nil {
		return nil, err
	}
	defer stream.Close() // its failures are those of the copies waited for
	to := place{stream, e.backend.Device.Memory(), e.backend}
	airports, _, err := to.copyTable(ctx, d.airports)
	if err != nil {
		return nil, err
	}
	var bytes int64
	flights, timing, err := s.keepLast(ctx, "transfer to "+e.backend.Device.Name(), func(ctx context.Context) (t *table.Table, err error) {
		t, bytes, err = to.copyTable(ctx, d.flights)
		return t, err
	})
	if err != nil {
		airports.Release()
		return nil, err
	}
	r := s.record(e, "transfer", flights.NumRows())
	r.SetTiming(timing)
	r.SetBytes(bytes, 0)
	if err := s.to.Record(r); err != nil {
		airports.Release()
		flights.Release()
		return nil, err
	}
	return &data{flights: flights, airports: airports, width: d.width}, nil
}
