package peers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/worker"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// Options are what to race on and against whom.
type Options struct {
	Backend *kernels.Backend // on the host
	Python  []string         // the interpreter that has the peers, and its arguments
	Peers   []string         // names as [Names] lists them
	Rows    int64            // rows of each input, below 2^31
	Ops     []string         // names as [Operations] lists them
	Rounds  int              // rounds of each operation
	Threads int              // threads that each may use
	Limit   report.Bandwidth // what the machine's memory can do

	gauge gauge                      // for tests; nil for that of package report
	free  func() (total, free int64) // for tests; nil for that of package memory
}

// Run races the operations, one after another. Each contender's times are a
// record, with OK telling whether its result is ours; the ratios are an
// [report.Answer] at the end. It stops within 100 ms of the end of ctx, but for
// the making of data, which it finishes; the peers' processes end with it.
//
// A peer for which there may not be memory enough is left out of an operation. One
// whose process ends is missing there, and started again for the next; the error of
// the race, after its answer, is then a [report.Incomplete].
func Run(ctx context.Context, o Options, to report.Sink, p progress.Progress) (err error) {
	if o.Rows < 1 || o.Rows > math.MaxInt32 {
		return fmt.Errorf("peers: %d rows, from 1 to %d are possible", o.Rows, math.MaxInt32)
	}
	if o.Backend.Device.Place() != memory.Host {
		return fmt.Errorf("peers: %s is not the host, where the peers run", o.Backend.Device.Name())
	}
	dir, err := os.MkdirTemp("", "volley-peers-")
	if err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	e := &race{rounds: o.Rounds, contenders: []contender{&ours{backend: o.Backend}, &ours{backend: o.Backend, ordered: true}}}
	if e.gauge = o.gauge; e.gauge == nil {
		if e.gauge, err = report.NewGauge(o.Threads); err != nil {
			return err
		}
	}
	workers, err := startAll(ctx, dir, o, p)
	defer func() {
		for _, w := range workers {
			if cerr := w.Close(); err == nil {
				err = cerr
			}
		}
	}()
	if err != nil {
		return err
	}
	for _, w := range workers {
		e.contenders = append(e.contenders, &peer{Worker: w})
	}
	sum := newSummary(o, e)
	for _, name := range o.Ops {
		i := slices.IndexFunc(problems, func(p problem) bool { return p.name == name })
		if i < 0 {
			return fmt.Errorf("peers: no operation %q; there are %v", name, Operations())
		}
		if err := one(ctx, e, &problems[i], dir, workers, o, sum, to, p); err != nil {
			return fmt.Errorf("peers: %s: %w", name, err)
		}
	}
	return errors.Join(to.Answer(sum.answer()), ended(sum.ended))
}

// ended is the error of a race in which processes ended; nil where none did.
func ended(at []string) error {
	if len(at) == 0 {
		return nil
	}
	return &report.Incomplete{Text: "peers: missing, as their processes ended: " + strings.Join(at, "; ")}
}

// named is an error where no peers are named, or one that there is not.
func named(peers []string) error {
	if len(peers) == 0 {
		return fmt.Errorf("peers: none named; there are %v", Names())
	}
	for _, name := range peers {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("peers: no peer %q; there are %v", name, Names())
		}
	}
	return nil
}

// startAll starts the peers' processes.
func startAll(ctx context.Context, dir string, o Options, p progress.Progress) (workers []*Worker, err error) {
	if err := named(o.Peers); err != nil {
		return nil, err
	}
	if err := worker.Unpack(programs, dir); err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	return startNamed(ctx, dir, o.Python, o.Peers, o.Threads, p)
}

// startNamed starts processes; with an error it gives those that run.
func startNamed(ctx context.Context, dir string, python, names []string, threads int, p progress.Progress) (workers []*Worker, err error) {
	p.Start("start peers", int64(len(names)))
	defer p.Done()
	argv := append(slices.Clone(python), filepath.Join(dir, "worker.py"))
	for _, name := range names {
		start := func(ctx context.Context) (*worker.Worker, error) {
			return worker.Start(ctx, "peers", argv, name, threads)
		}
		w, err := start(ctx)
		if err != nil {
			return workers, err
		}
		workers = append(workers, &Worker{Worker: w, start: start})
		p.Add(1)
	}
	return workers, nil
}

// one runs one problem and takes its inputs away again.
func one(ctx context.Context, e *race, pr *problem, dir string, workers []*Worker, o Options, sum *summary, to report.Sink, p progress.Progress) error {
	p.Start(pr.name+", input and results", int64(len(e.contenders)))
	s := &stage{records: pr.inputs(o.Rows), paths: map[string]string{}}
	defer func() {
		for _, path := range append(slices.Collect(maps.Values(s.paths)), s.file) {
			if path != "" {
				_ = os.Remove(path) // the folder goes at the end, with what is left in it
			}
		}
	}()
	size := int64(0)
	for name, r := range s.records {
		size += bytesOfAll([]arrow.RecordBatch{r})
		s.paths[name] = filepath.Join(dir, pr.name+"-"+name+".arrow")
		if err := writeArrow(s.paths[name], r); err != nil {
			return err
		}
	}
	if s.size, s.free = size, o.free; s.free == nil {
		s.free = memory.System
	}
	_, free := s.free()
	s.mmap = size*int64(len(workers)+1) > free/3
	if pr.file != "" {
		s.file = filepath.Join(dir, pr.name) + ".parquet"
		if pr.file == "csv" {
			s.file = filepath.Join(dir, "table.csv")
		}
		if err := e.write(ctx, command{Do: "write", Kind: pr.file, From: s.paths["t"], Path: s.file}); err != nil {
			return err
		}
		info, err := os.Stat(s.file)
		if err != nil {
			return err
		}
		size = info.Size()
	} else if pr.read != nil {
		size = pr.read(o.Rows)
	}
	all, err := e.prepare(ctx, pr, s, p)
	if err == nil {
		p.Start(pr.name+", rounds", int64(e.rounds))
		err = e.run(ctx, all, p)
	}
	p.Done()
	died, uerr := e.unload(ctx)
	if err = errors.Join(err, uerr); err != nil {
		return err
	}
	for _, name := range died {
		sum.ended = append(sum.ended, pr.name+", "+name+" (after its rounds)")
	}
	return sum.add(pr, all, size, to, p)
}

// writeArrow writes a table as an Arrow file.
func writeArrow(path string, r arrow.RecordBatch) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(r.Schema()))
	if err != nil {
		return err
	}
	return errors.Join(w.Write(r), w.Close())
}
