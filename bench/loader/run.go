package loader

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/worker"
)

// Sets of data that are no files of the user's: made numbers, and the flights joined
// with the places of their airports, which are of mixed types.
const (
	Made    = "made"
	Flights = "flights"
)

// mostRows is how many rows float32 tells apart.
const mostRows = 1 << 24

// Options are what to race on and against whom.
type Options struct {
	Python  string   // the interpreter that has the engines
	Engines []string // names as [Engines] lists them
	Ops     []string // names as [Ops] lists them; nil means all
	Data    []string // sets: [Made], [Flights], and paths of files or folders whose numbers are taken; nil means Made
	Rows    int64    // of the data that is made, below 2^24
	Columns int64    // of it
	Flights string   // the folder of flights-1m.parquet and airports.csv
	Batch   int64    // rows of a batch
	Rounds  int      // epochs of each engine
	Threads int      // threads that each may use
}

// Run races the engines at each set of data: from memory, from a Parquet file in
// its order, and from one shuffled. Each engine's epochs are a record, with OK
// telling whether every row came exactly once; the ratios are a [report.Answer] at
// the end. An engine that cannot start, or whose process ends, is noted and the
// others go on, but for ours, whose error is that of Run. The engines' processes end
// with ctx.
func Run(ctx context.Context, o Options, to report.Sink, p progress.Progress) (err error) {
	if err := o.fill(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "volley-loader-")
	if err != nil {
		return fmt.Errorf("loader: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := worker.Unpack(programs, dir); err != nil {
		return fmt.Errorf("loader: %w", err)
	}
	var workers []*engine
	defer func() {
		for _, w := range workers {
			if w.Worker != nil {
				err = errors.Join(err, w.Close())
			}
		}
	}()
	p.Start("start engines", int64(len(o.Engines)))
	for _, name := range o.Engines {
		w, err := worker.Start(ctx, "loader", []string{o.Python, filepath.Join(dir, "worker.py")}, name, o.Threads)
		one := &engine{Worker: w, name: name}
		if err := one.gone(ctx, err, o.Engines[0]); err != nil {
			return err
		}
		workers = append(workers, one)
		p.Add(1)
	}
	p.Done()
	s := &summary{o: o}
	for _, set := range o.Data {
		if err := s.set(ctx, set, filepath.Join(dir, "set"), workers, to, p); err != nil {
			return err
		}
	}
	return to.Answer(s.answer())
}

// fill checks the options and fills in what was left out.
func (o *Options) fill() error {
	if len(o.Data) == 0 {
		o.Data = []string{Made}
	}
	if slices.Contains(o.Data, Made) && (o.Rows < 1 || o.Rows >= mostRows || o.Columns < 1) {
		return fmt.Errorf("loader: %d rows of %d columns: from 1 to %d rows are possible", o.Rows, o.Columns, mostRows-1)
	}
	if len(o.Engines) == 0 {
		return fmt.Errorf("loader: no engines; there are %v", Engines())
	}
	for _, name := range o.Engines {
		if !slices.Contains(Engines(), name) {
			return fmt.Errorf("loader: no engine %q; there are %v", name, Engines())
		}
	}
	if o.Ops == nil {
		o.Ops = Ops()
	}
	for _, op := range o.Ops {
		if !slices.Contains(Ops(), op) {
			return fmt.Errorf("loader: no operation %q; there are %v", op, Ops())
		}
	}
	return nil
}

// set races at one set of data, which it makes in a folder.
func (s *summary) set(ctx context.Context, set, dir string, workers []*engine, to report.Sink, p progress.Progress) (err error) {
	if err := os.Mkdir(dir, 0o777); err != nil {
		return fmt.Errorf("loader: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o := s.o
	c := command{Do: "make", Folder: dir}
	switch set {
	case Made:
		c.Rows, c.Columns = o.Rows, o.Columns
	case Flights:
		c.Flights = o.Flights
	default:
		c.Data = set
	}
	p.Start("make data: "+set, 0)
	made, err := workers[0].call(ctx, c)
	p.Done()
	if err != nil {
		return err
	}
	for _, op := range o.Ops {
		var bound *limit
		if op == "memory" {
			if bound, err = newLimit(made.Rows, made.Columns, o.Batch, o.Threads); err != nil {
				return err
			}
		}
		all, of, err := race(ctx, o, set, op, dir, workers, bound, p)
		if bound != nil {
			bound.close()
		}
		if err != nil {
			return err
		}
		if err := s.add(Line{Data: set, Op: op, Rows: made.Rows, Columns: made.Columns}, all, of, to); err != nil {
			return err
		}
	}
	return nil
}
