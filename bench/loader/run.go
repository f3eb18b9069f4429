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

const (
	// An engine that took more than slow times as long as the fastest in its first
	// round is timed in fewRounds rounds only.
	slow      = 5
	fewRounds = 2
	// mostRows is how many rows float32 tells apart.
	mostRows = 1 << 24
)

// Options are what to race on and against whom.
type Options struct {
	Python  string   // the interpreter that has the engines
	Engines []string // names as [Engines] lists them
	Ops     []string // names as [Ops] lists them; nil means all
	Rows    int64    // of the data that is made, below 2^24
	Columns int64    // of it
	Data    string   // a Parquet file whose numbers are the data instead
	Batch   int64    // rows of a batch
	Rounds  int      // epochs of each engine
	Threads int      // threads that each may use
}

// racer is an engine at one operation.
type racer struct {
	*engine
	lacks, wrong string // why it has no time, how its batches are wrong
	report.Timing
	first  []float64
	growth int64
}

// Run races the engines from memory, from a Parquet file in its order, and from
// one shuffled. Each engine's epochs
// are a record, with OK telling whether every row came exactly once; the ratios
// are a [report.Answer] at the end. The engines' processes end with ctx.
func Run(ctx context.Context, o Options, to report.Sink, p progress.Progress) (err error) {
	if o.Data == "" && (o.Rows < 1 || o.Rows >= mostRows || o.Columns < 1) {
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
			err = errors.Join(err, w.Close())
		}
	}()
	p.Start("start engines", int64(len(o.Engines)))
	for _, name := range o.Engines {
		w, err := worker.Start(ctx, "loader", []string{o.Python, filepath.Join(dir, "worker.py")}, name, o.Threads)
		if err != nil {
			return err
		}
		workers = append(workers, &engine{w})
		p.Add(1)
	}
	p.Done()
	p.Start("make data", 0)
	made, err := workers[0].call(ctx, command{Do: "make", Folder: dir, Data: o.Data, Rows: o.Rows, Columns: o.Columns})
	p.Done()
	if err != nil {
		return err
	}
	s := &summary{o: o, rows: made.Rows, columns: made.Columns}
	for _, op := range o.Ops {
		var bound *limit
		if op == "memory" {
			bound = newLimit(made.Rows, made.Columns, o.Batch, o.Threads)
		}
		all, limits, err := race(ctx, op, dir, workers, bound, o, p)
		if err != nil {
			return err
		}
		if err := s.add(op, all, limits, to); err != nil {
			return err
		}
	}
	return to.Answer(s.answer())
}

// race runs an operation by all engines, and times the limit, if there is one,
// beside each round.
func race(ctx context.Context, op, dir string, workers []*engine, bound *limit, o Options, p progress.Progress) (all []*racer, limits report.Timing, err error) {
	p.Start(op+", check", int64(len(workers)))
	defer p.Done()
	for _, w := range workers {
		r := &racer{engine: w}
		all = append(all, r)
		a, err := w.call(ctx, command{Do: "load", Folder: dir, Op: op, Batch: o.Batch})
		if r.lacks = a.Lacks; err == nil && r.lacks == "" {
			a, err = w.call(ctx, command{Do: "check"})
			r.wrong = a.Wrong
		}
		if err := r.failed(err); err != nil {
			return all, limits, err
		}
		p.Add(1)
	}
	p.Start(op+", rounds", int64(o.Rounds))
	for round := range o.Rounds {
		fastest := 0.0
		for _, r := range all {
			if len(r.Seconds) > 0 && (fastest == 0 || r.Seconds[0] < fastest) {
				fastest = r.Seconds[0]
			}
		}
		if bound != nil {
			seconds, err := bound.run(ctx)
			if err != nil {
				return all, limits, err
			}
			limits.Seconds = append(limits.Seconds, seconds)
		}
		for i := range all {
			r := all[(i+round)%len(all)]
			if r.lacks != "" || round >= fewRounds && r.Seconds[0] > slow*fastest {
				continue
			}
			a, err := r.call(ctx, command{Do: "epoch"})
			if err := r.failed(err); err != nil {
				return all, limits, err
			}
			if err != nil {
				continue
			}
			r.Seconds, r.growth = append(r.Seconds, a.Seconds), max(r.growth, a.Growth)
			if a, err = r.call(ctx, command{Do: "first"}); err == nil {
				r.first = append(r.first, a.Seconds)
			}
			if err := r.failed(err); err != nil {
				return all, limits, err
			}
		}
		p.Add(1)
	}
	return all, limits, nil
}

// failed notes what an engine failed at; an error of anything else is given back.
func (r *racer) failed(err error) error {
	var f *worker.Failure
	if !errors.As(err, &f) {
		return err
	}
	r.lacks = "failed: " + f.Text
	return nil
}
