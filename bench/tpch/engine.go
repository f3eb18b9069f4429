package tpch

import (
	"context"
	"embed"
	"fmt"
	"path/filepath"
	"runtime"
	"time"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/worker"
	"github.com/volley-go/volley/kernels"
)

// oursName is the name of ours among the engines.
const oursName = "volley"

// turn is what one turn of an engine took: a query once or several times.
type turn struct {
	Seconds []float64 `json:"seconds"` // of each time
	CPU     float64   `json:"cpu"`     // seconds of processor time in all
	Wall    float64   `json:"wall"`    // seconds in all
}

// engine runs queries over the data.
type engine interface {
	name() string
	release() string // the version
	// answer runs a query once.
	answer(ctx context.Context, q Query, dir string) (*Answer, float64, error)
	// run runs it until atLeast is over or it has run so many times.
	run(ctx context.Context, q Query, atLeast time.Duration, most int) (turn, error)
	close() error
}

// ours is the engine in this process.
type ours struct {
	data Data
	free func()
}

func newOurs(ctx context.Context, b *kernels.Backend, folder string, files bool) (*ours, error) {
	if files {
		return &ours{Scan(b, folder), func() {}}, nil
	}
	data, free, err := Load(ctx, b, folder)
	return &ours{data, free}, err
}

func (o *ours) name() string    { return oursName }
func (o *ours) release() string { return report.Version() }

func (o *ours) close() error {
	o.free()
	return nil
}

func (o *ours) answer(ctx context.Context, q Query, _ string) (*Answer, float64, error) {
	start := time.Now()
	t, err := q.Plan(o.data).Collect(ctx)
	seconds := time.Since(start).Seconds()
	if err != nil {
		return nil, 0, err
	}
	defer t.Release()
	a, err := AnswerOf(t)
	return a, seconds, err
}

func (o *ours) run(ctx context.Context, q Query, atLeast time.Duration, most int) (t turn, err error) {
	runtime.GC()
	cpu, known := report.CPUTime()
	start := time.Now()
	for {
		begin := time.Now()
		got, err := q.Plan(o.data).Collect(ctx)
		if err != nil {
			return turn{}, err
		}
		t.Seconds = append(t.Seconds, time.Since(begin).Seconds())
		got.Release()
		t.Wall = time.Since(start).Seconds()
		if len(t.Seconds) >= most || t.Wall >= atLeast.Seconds() {
			break
		}
	}
	if known == nil {
		after, err := report.CPUTime()
		if err != nil {
			return turn{}, err
		}
		t.CPU = (after - cpu).Seconds()
	}
	return t, nil
}

// programs are those of the peers' processes.
//
//go:embed python/*.py
var programs embed.FS

// command is a line to a worker; python/worker.py says what each does.
type command struct {
	Do      string  `json:"do"`
	Folder  string  `json:"folder,omitempty"`
	Files   bool    `json:"files"`
	Query   string  `json:"query,omitempty"`
	Path    string  `json:"path,omitempty"`
	AtLeast float64 `json:"atleast"`
	Most    int     `json:"most"`
}

// peer is an engine in a process of its own.
type peer struct{ *worker.Worker }

func (p *peer) name() string    { return p.Name }
func (p *peer) release() string { return p.Version }
func (p *peer) close() error    { return p.Close() }

func (p *peer) ask(ctx context.Context, c command) (t turn, err error) {
	err = p.Ask(ctx, c.Do, c, &t)
	return t, err
}

func (p *peer) answer(ctx context.Context, q Query, dir string) (*Answer, float64, error) {
	path := filepath.Join(dir, p.Name+"-"+q.Name+".csv")
	t, err := p.ask(ctx, command{Do: "answer", Query: q.Name, Path: path})
	if err == nil && len(t.Seconds) != 1 {
		err = fmt.Errorf("tpch: %s does not tell how long %s took", p.Name, q.Name)
	}
	if err != nil {
		return nil, 0, err
	}
	a, err := ReadAnswer(path)
	if err != nil {
		return nil, 0, err
	}
	a.allNear()
	return a, t.Seconds[0], nil
}

func (p *peer) run(ctx context.Context, q Query, atLeast time.Duration, most int) (turn, error) {
	t, err := p.ask(ctx, command{Do: "run", Query: q.Name, AtLeast: atLeast.Seconds(), Most: most})
	if err == nil && len(t.Seconds) == 0 {
		err = fmt.Errorf("tpch: %s has run %s no times", p.Name, q.Name)
	}
	return t, err
}
