package flights

import (
	"context"
	"fmt"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/kernels/reference"
)

// Options are what to run and on what.
type Options struct {
	Data     string             // Parquet file of flights: date, delay, distance, origin
	Airports string             // CSV file of airports: iata, state, latitude, longitude
	Backends []*kernels.Backend // the devices to run on
	Host     *kernels.Backend   // reads for devices with memory of their own, and runs the reference loops
	Runs     int                // timed runs of each step
	Threads  int                // threads that the CPU has, for the records
	Limit    report.Bandwidth   // what the machine's memory can do
}

// engine is a set of kernels on a device.
type engine struct {
	name    string // as records have it
	backend *kernels.Backend
	runs    int
}

// engines are the devices' own kernels and the reference loops on the host.
// The loops run each step once: they are there to be agreed with.
func (o *Options) engines() []engine {
	var all []engine
	for _, b := range o.Backends {
		all = append(all, engine{"volley", b, o.Runs})
	}
	return append(all, engine{"reference", &kernels.Backend{Device: o.Host.Device, Set: reference.New()}, 1})
}

// moves reports whether the engine works on other memory than the host's.
func (e engine) moves() bool {
	d := e.backend.Device
	return !d.Info().Unified || !d.Place().HostAccessible()
}

// suite is a run of the suite.
type suite struct {
	Options
	to     report.Sink
	p      progress.Progress
	golden *Answer // nil when the data are not the known ones
	first  *Answer // of the first engine, which the others are held against
	notes  []string
}

// Run runs the suite: for each engine the steps read, transfer, query, fit and,
// but for the reference loops, batches.
// Every answer is held against the known one, where the data are the known
// ones, and against the first engine's. A difference makes the OK of the
// step's record false; anything else that goes wrong ends the suite. It stops
// within 100 ms of the end of ctx.
func Run(ctx context.Context, o Options, to report.Sink, p progress.Progress) error {
	if o.Host == nil || len(o.Backends) == 0 {
		return fmt.Errorf("flights: no device to run on, or none to read the files on")
	}
	known, err := golden(o.Data, o.Airports)
	if err != nil {
		return fmt.Errorf("flights: %w", err)
	}
	s := &suite{Options: o, to: to, p: p, golden: known}
	agree := true
	var names []string
	for _, e := range o.engines() {
		ok, err := s.engine(ctx, e)
		if err != nil {
			return fmt.Errorf("flights: %s on %s: %w", e.name, e.backend.Device.Name(), err)
		}
		agree = agree && ok
		names = append(names, e.name+" on "+e.backend.Device.Name())
		if e.name == "volley" && !e.moves() {
			s.notes = append(s.notes, e.backend.Device.Name()+" works on host memory: nothing to transfer.")
		}
	}
	return s.verdict(agree, names)
}

// verdict says what the answers are and whether the engines agree.
func (s *suite) verdict(agree bool, names []string) error {
	query, fit := s.first.grids()
	query.Note = fmt.Sprintf("The answers of %s agree.", list(names))
	if !agree {
		query.Note = fmt.Sprintf("The answers of %s DO NOT AGREE: see the steps.", list(names))
	}
	if s.golden == nil {
		query.Note += " There is no answer by other software for these files."
	} else if agree {
		query.Note += " They are the known ones."
	}
	for _, n := range s.notes {
		query.Note += " " + n
	}
	if err := s.to.Answer(report.Answer{Suite: "flights", Value: struct {
		*Answer
		Engines []string `json:"engines"`
		Agree   bool     `json:"agree"`
		Known   bool     `json:"known"` // whether there is an answer by other software to hold them against
		Notes   []string `json:"notes,omitempty"`
	}{s.first, names, agree, s.golden != nil, s.notes}, Grid: query}); err != nil {
		return err
	}
	return s.to.Answer(report.Answer{Suite: "flights", Value: map[string]any{"coefficients": s.first.Coefficients, "r2": s.first.R2}, Grid: fit})
}

func list(names []string) string {
	s := ""
	for i, n := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			s += " and "
		default:
			s += ", "
		}
		s += n
	}
	return s
}

// engine runs the steps on one engine and reports whether its answers are
// right.
func (s *suite) engine(ctx context.Context, e engine) (bool, error) {
	d, err := s.load(ctx, e)
	if err != nil {
		return false, err
	}
	defer d.release()
	flights, airports := d.flights, d.airports
	a := &Answer{Rows: flights.NumRows()}
	queried, err := s.step(ctx, e, "query", a.Rows, d.width, func(ctx context.Context) (err error) {
		a.States, err = query(ctx, flights, airports)
		return err
	}, func() error {
		a.Passed = 0
		for _, st := range a.States {
			a.Passed += st.Flights
		}
		return s.hold(a, (*Answer).sameQuery)
	})
	if err != nil {
		return false, err
	}
	fitted, err := s.step(ctx, e, "fit", a.Rows, d.width, func(ctx context.Context) (err error) {
		a.Coefficients, a.R2, err = fit(ctx, flights, airports)
		return err
	}, func() error { return s.hold(a, (*Answer).sameFit) })
	if s.first == nil {
		s.first = a
	}
	if err != nil || e.name == "reference" { // drawing batches is not a kernel: nothing to compare
		return queried && fitted, err
	}
	drawn, err := s.batches(ctx, e, d)
	return queried && fitted && drawn, err
}

// hold compares an answer with the known one and the first engine's.
func (s *suite) hold(a *Answer, differs func(a, want *Answer) error) error {
	if s.golden != nil {
		if err := differs(a, s.golden); err != nil {
			return fmt.Errorf("against the known answer: %w", err)
		}
	}
	if s.first != nil {
		if err := differs(a, s.first); err != nil {
			return fmt.Errorf("against the first engine: %w", err)
		}
	}
	return nil
}

func (s *suite) record(e engine, op string, rows int64) report.Record {
	return report.Record{
		Suite: "flights", Op: op, Engine: e.name, Version: report.Version(),
		Device: e.backend.Device.Name(), Rows: report.Of(rows), Threads: s.Threads,
	}
}

// step times f, checks its answer once, and reports whether that is right.
func (s *suite) step(ctx context.Context, e engine, op string, rows, bytes int64, f func(context.Context) error, check func() error) (bool, error) {
	s.p.Start(fmt.Sprintf("%s, %s on %s", op, e.name, e.backend.Device.Name()), int64(e.runs))
	measure := report.Measure
	if e.name == "reference" {
		measure = once
	}
	timing, err := measure(ctx, e.runs, func(ctx context.Context) error {
		defer s.p.Add(1)
		return f(ctx)
	})
	s.p.Done()
	if err != nil {
		return false, fmt.Errorf("%s of %s and %s: %w", op, s.Data, s.Airports, err)
	}
	wrong := check()
	if wrong != nil {
		s.p.Start(fmt.Sprintf("%s, %s on %s is WRONG %v", op, e.name, e.backend.Device.Name(), wrong), 0)
		s.p.Done()
	}
	r := s.record(e, op, rows)
	r.SetTiming(timing)
	r.SetBytes(bytes, s.Limit.ReadGBs)
	r.OK = report.Of(wrong == nil)
	if e.name == "reference" {
		r.Threads = 1
	}
	return wrong == nil, s.to.Record(r)
}
