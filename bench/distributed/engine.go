package distributed

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/worker"
	"github.com/volley-go/volley/gang"
	"github.com/volley-go/volley/internal/processors"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/table"
	"github.com/volley-go/volley/table/storage"
)

// oursName is the local operators; ranks of ours have their number behind it.
const oursName = "volley"

// turn is what one turn of an engine took.
type turn struct {
	Seconds []float64 `json:"seconds"` // of each run
	CPU     float64   `json:"cpu"`     // seconds of processor time of all runs; 0 where not known
}

// engine runs operations over the two sides, which it has in memory.
type engine interface {
	name() string
	release() string // the version
	answer(ctx context.Context, op *operation) (*table.Table, error)
	run(ctx context.Context, op *operation) (turn, error)
	close(ctx context.Context) error
}

// ours is a gang of processes of this program: ranks of one thread each, or one process with the local operators.
type ours struct {
	called string
	g      *gang.Gang
}

// startOurs starts ranks ranks, or the local operators where that is 0.
func startOurs(ctx context.Context, o *Options, b *kernels.Backend, ranks int) (*ours, error) {
	e := &ours{called: oursName}
	workers, threads := 1, o.Threads
	if ranks > 0 {
		e.called, workers, threads = fmt.Sprintf("%s-%d", oursName, ranks), ranks, 1
	}
	var err error
	e.g, err = gang.Start(ctx, gang.Processes(o.Self[0], o.Self[1:]...), gang.Options{
		Workers: workers, Backend: b, Env: []string{fmt.Sprintf("%s=%d", processors.Variable, threads)},
	})
	if err != nil {
		return nil, fmt.Errorf("distributed: %s: %w", e.called, err)
	}
	if _, err := e.call(ctx, callLoad, o.Rows, ranks == 0); err != nil {
		return nil, errors.Join(err, e.close(ctx))
	}
	return e, nil
}

func (e *ours) name() string    { return e.called }
func (e *ours) release() string { return report.Version() }

func (e *ours) close(ctx context.Context) error { return e.g.Stop(ctx) }

// call runs a function on all ranks, and gives the results by rank.
func (e *ours) call(ctx context.Context, name string, args ...any) ([]any, error) {
	refs, err := e.g.Run(ctx, name, args...)
	if err != nil {
		return nil, fmt.Errorf("distributed: %s: %w", e.called, err)
	}
	all := make([]any, len(refs))
	for i, r := range refs {
		if all[i], err = e.g.Get(ctx, r); err != nil {
			return nil, err
		}
		if err := e.g.Drop(ctx, r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// lists is call of functions that give numbers: those of each rank.
func (e *ours) lists(ctx context.Context, name string, args ...any) ([][]float64, error) {
	all, err := e.call(ctx, name, args...)
	if err != nil {
		return nil, err
	}
	lists := make([][]float64, len(all))
	for r, v := range all {
		items, ok := v.([]any)
		if !ok {
			return nil, fmt.Errorf("distributed: %s: rank %d gives %v in place of numbers", e.called, r, v)
		}
		for _, x := range items {
			switch x := x.(type) {
			case int64:
				lists[r] = append(lists[r], float64(x))
			case float64:
				lists[r] = append(lists[r], x)
			}
		}
		if len(lists[r]) != len(items) || len(items) != len(lists[0]) {
			return nil, fmt.Errorf("distributed: %s: rank %d gives %v, rank 0 %v", e.called, r, items, lists[0])
		}
	}
	return lists, nil
}

func (e *ours) answer(ctx context.Context, op *operation) (*table.Table, error) {
	refs, err := e.g.Run(ctx, callAnswer, op.name)
	if err != nil {
		return nil, fmt.Errorf("distributed: %s: %w", e.called, err)
	}
	whole, err := gang.Union(refs...)
	if err != nil {
		return nil, err
	}
	t, err := e.g.Table(ctx, whole)
	if err != nil {
		return nil, err
	}
	return t, e.g.Drop(ctx, whole)
}

func (e *ours) run(ctx context.Context, op *operation) (turn, error) {
	lists, err := e.lists(ctx, callTime, op.name, turnTime.Milliseconds(), int64(turnMost))
	if err != nil {
		return turn{}, err
	}
	last := len(lists[0]) - 1
	t := turn{Seconds: slowest(lists, last)}
	for _, l := range lists {
		t.CPU += l[last]
	}
	return t, nil
}

// slowest is the greatest of all ranks of each of the first n numbers.
func slowest(lists [][]float64, n int) []float64 {
	all := make([]float64, n)
	for _, l := range lists {
		for i := range all {
			all[i] = max(all[i], l[i])
		}
	}
	return all
}

// programs are those of the peers' processes.
//
//go:embed python/*.py
var programs embed.FS

// command is a line to a worker; python/worker.py says what each does.
type command struct {
	Do      string  `json:"do"`
	Folder  string  `json:"folder,omitempty"`
	Op      string  `json:"op,omitempty"`
	Path    string  `json:"path,omitempty"`
	AtLeast float64 `json:"atleast"`
	Most    int     `json:"most"`
}

// peer is an engine in processes of its own.
type peer struct {
	*worker.Worker
	dir     string
	backend *kernels.Backend // for its answers
}

func (p *peer) name() string                { return p.Name }
func (p *peer) release() string             { return p.Version }
func (p *peer) close(context.Context) error { return p.Close() }

func (p *peer) ask(ctx context.Context, c command) (t turn, err error) {
	err = p.Ask(ctx, c.Do, c, &t)
	return t, err
}

func (p *peer) answer(ctx context.Context, op *operation) (*table.Table, error) {
	path := filepath.Join(p.dir, p.Name+"-"+op.name+".parquet")
	if _, err := p.ask(ctx, command{Do: "answer", Op: op.name, Path: path}); err != nil {
		return nil, err
	}
	return storage.ScanParquet(path).On(p.backend).Collect(ctx)
}

func (p *peer) run(ctx context.Context, op *operation) (turn, error) {
	t, err := p.ask(ctx, command{Do: "run", Op: op.name, AtLeast: turnTime.Seconds(), Most: turnMost})
	if err == nil && len(t.Seconds) == 0 {
		err = fmt.Errorf("distributed: %s has run %s no times", p.Name, op.name)
	}
	return t, err
}

// turnTime is how long a turn repeats a short operation, turnMost how often.
const (
	turnTime = 30 * time.Millisecond
	turnMost = 20
)
