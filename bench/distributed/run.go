package distributed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/rounds"
	"github.com/volley-go/volley/bench/worker"
	"github.com/volley-go/volley/kernels"
)

// Options is what to run and against whom.
type Options struct {
	Backend *kernels.Backend // of the host, for answers
	Self    []string         // the program and arguments that become [Rank]
	Rows    int64            // of each side
	Ops     []string         // names of [Names]
	Ranks   []int            // numbers of ranks
	Python  []string         // the interpreter that has the peers, and its arguments
	Peers   []string         // names as [Peers] lists them; none for ours alone
	Rounds  int              // of each operation
	Threads int              // of the local operators and of each peer

	gauge rounds.Gauge // for tests; nil for that of package report
}

// Run times the operations in turns: on ranks, by the local operators and by peers. Each engine's times are a record, whose OK tells whether its answer is that
// of the local operators; ratios, memory and the shuffle beside an all-to-all of the transport are [report.Answer]s at the end. It stops within 100 ms of the
// end of ctx, but for the time that the engines take to end.
//
// A peer that fails at an operation, or whose process ends, is missing there; the error of the run, after its answers, is then a [report.Incomplete].
func Run(ctx context.Context, o Options, to report.Sink, p progress.Progress) (err error) {
	if o.Rows < 1 || o.Rows >= 1<<40 {
		return fmt.Errorf("distributed: %d rows, from 1 to 2⁴⁰ are possible", o.Rows)
	}
	for _, name := range o.Ops {
		if operationNamed(name) == nil {
			return fmt.Errorf("distributed: no operation %q; there are %v", name, Names())
		}
	}
	dir, err := os.MkdirTemp("", "volley-distributed-")
	if err != nil {
		return fmt.Errorf("distributed: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &race{Options: o, dir: dir, to: to, p: p}
	if r.machine = (rounds.Race{Gauge: o.gauge, Add: p.Add}); o.gauge == nil {
		if r.machine.Gauge, err = report.NewGauge(o.Threads); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.start(ctx); err != nil {
		return err
	}
	for _, name := range o.Ops {
		if err := r.one(ctx, operationNamed(name)); err != nil {
			return fmt.Errorf("distributed: %s: %w", name, err)
		}
	}
	for _, a := range r.answers() {
		if err := to.Answer(a); err != nil {
			return err
		}
	}
	if len(r.missing) > 0 {
		return &report.Incomplete{Text: fmt.Sprintf("distributed: missing: %v", r.missing)}
	}
	return nil
}

// start makes the engines ready, each with both sides in memory.
func (r *race) start(ctx context.Context) (err error) {
	r.p.Start("start the engines", int64(1+len(r.Ranks)+len(r.Peers)))
	defer r.p.Done()
	for _, ranks := range append([]int{0}, r.Ranks...) {
		e, err := startOurs(ctx, &r.Options, r.Backend, ranks)
		if err != nil {
			return err
		}
		r.engines = append(r.engines, e)
		r.p.Add(1)
	}
	if len(r.Peers) == 0 {
		return nil
	}
	if r.dir, err = filepath.Abs(r.dir); err != nil {
		return fmt.Errorf("distributed: %w", err)
	}
	if err := worker.Unpack(programs, r.dir); err != nil {
		return fmt.Errorf("distributed: %w", err)
	}
	if err := write(ctx, r.Backend, r.Rows, r.dir); err != nil {
		return err
	}
	argv := append(slices.Clone(r.Python), filepath.Join(r.dir, "worker.py"))
	for _, name := range r.Peers {
		if !slices.Contains(Peers(), name) {
			return fmt.Errorf("distributed: no peer %q; there are %v", name, Peers())
		}
		if err := r.join(ctx, argv, name); err != nil {
			return err
		}
		r.p.Add(1)
	}
	return nil
}

// join starts a peer. One that is not installed, or does not start, is missing.
func (r *race) join(ctx context.Context, argv []string, name string) error {
	w, err := worker.Start(ctx, "distributed", argv, name, r.Threads)
	if err == nil {
		e := &peer{w, r.dir, r.Backend}
		if _, err = e.ask(ctx, command{Do: "load", Folder: r.dir}); err == nil {
			r.engines = append(r.engines, e)
			return nil
		}
		err = errors.Join(err, w.Close())
	}
	why, err := worker.Lacks(err)
	if err != nil {
		return err
	}
	r.missing = append(r.missing, name)
	r.notes = append(r.notes, why+".")
	return nil
}

func (r *race) close() (err error) {
	for _, e := range r.engines {
		// The run may be over because its context is: the processes still get the time to end.
		err = errors.Join(err, e.close(context.Background()))
	}
	return err
}
