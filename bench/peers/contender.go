package peers

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
)

// contender is who races: ours or a peer. It works on one problem at a time.
type contender interface {
	name() string
	release() string // the version
	// load lays out the input, and tells the ways to run or why there is none.
	load(ctx context.Context, p *problem, s *stage) (ways []way, lacks string, err error)
	// check runs a way once and describes what came of it.
	check(ctx context.Context, w string) (*checked, error)
	// run runs a way until atLeast is over or it has run so many times.
	run(ctx context.Context, w string, atLeast time.Duration, most int) (turn, error)
	unload(ctx context.Context) error
}

// checked is what came of running a way for the first time.
type checked struct {
	Fingerprint
	growth  *int64 // how far resident memory of this process grew, bytes; nil where that is not known
	seconds float64
}

// stage is the input of a problem, laid out for all.
type stage struct {
	records map[string]arrow.RecordBatch // in this process
	paths   map[string]string            // the same as Arrow files
	ipc     map[string]string            // Arrow files that this process reads instead
	file    string                       // the file to read, where the problem is one
	product *matrices                    // or the matrices of a product
	mmap    bool                         // peers leave the files where they are
}

// peer is the contender in a Worker.
type peer struct {
	*Worker
	problem *problem
}

func (p *peer) name() string    { return p.Name }
func (p *peer) release() string { return p.Version }

func (p *peer) load(ctx context.Context, of *problem, s *stage) ([]way, string, error) {
	p.problem = of
	c := command{Do: "load", Op: of.name, Inputs: s.paths, Mmap: s.mmap, File: s.file}
	if s.file != "" {
		c.Inputs = map[string]string{}
	}
	a, err := p.call(ctx, c)
	if err == nil && a.Lacks == "" && len(a.Ways) == 0 {
		err = fmt.Errorf("peers: %s tells neither ways to %s nor why there is none", p.name(), of.name)
	}
	return a.Ways, a.Lacks, err
}

func (p *peer) check(ctx context.Context, w string) (*checked, error) {
	a, err := p.call(ctx, command{Do: "check", Way: w, Columns: p.problem.columns, Order: p.problem.order})
	if err == nil && len(a.Seconds) != 1 {
		err = fmt.Errorf("peers: %s does not tell how long %s took", p.name(), p.problem.name)
	}
	if err != nil {
		return nil, err
	}
	return &checked{a.Fingerprint, nil, a.Seconds[0]}, nil
}

func (p *peer) run(ctx context.Context, w string, atLeast time.Duration, most int) (turn, error) {
	a, err := p.call(ctx, command{Do: "run", Way: w, AtLeast: atLeast.Seconds(), Most: most})
	if err == nil && len(a.Seconds) == 0 {
		err = fmt.Errorf("peers: %s has run %s no times", p.name(), p.problem.name)
	}
	return a.turn, err
}

func (p *peer) unload(ctx context.Context) error {
	_, err := p.call(ctx, command{Do: "unload"})
	return err
}
