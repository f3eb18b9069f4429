package peers

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/bench/report"
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
	size    int64                        // bytes of the tables
	free    func() (total, free int64)   // memory now, as [memory.System] tells; nil where it does not matter
}

const (
	// What a peer needs above its input is of the order of work times that.
	work = 4
	// It lays the input out anew, beside what it has read from the files unless
	// that stays there.
	laidOut = 2
)

// crowded says that a peer may need more memory than is free: what its input, its
// work and its result take is known only when it is too late. It is "" where all fits
// or the system does not tell.
func (s *stage) crowded() string {
	if s.free == nil {
		return ""
	}
	total, free := s.free()
	need := s.size * (work + laidOut)
	switch {
	case s.file != "":
		need = s.size * work
	case s.mmap:
		need = s.size * (work + laidOut - 1)
	}
	if total == 0 || need <= free {
		return ""
	}
	return fmt.Sprintf("left out: it may need %s, %s of memory are free", report.Bytes(need), report.Bytes(free))
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
	if err := p.revive(ctx); err != nil {
		return nil, "", err
	}
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
	if p.gone {
		return nil // and so is its input
	}
	_, err := p.call(ctx, command{Do: "unload"})
	return err
}
