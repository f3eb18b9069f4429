package gang

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/volley-go/volley/internal/processors"
)

// Workers are what workers are: Processes, Goroutines, or Invited ones.
type Workers interface {
	// start begins them, with their invitations. failed is called for one that ends.
	start(ctx context.Context, g *Gang, invitations []string, failed func(rank int, err error)) (running, error)
	// later says that somebody else starts them.
	later() bool
}

// running are workers that were started.
type running interface {
	wait(ctx context.Context) // until all have ended, or ctx
	kill()
}

// Invited workers are started by somebody else, such as an engine, which hands each its Gang.Invitation as VOLLEY_GANG, or has it call EnterAs.
func Invited() Workers { return invitees{} }

type invitees struct{}

func (invitees) later() bool { return true }
func (invitees) start(context.Context, *Gang, []string, func(int, error)) (running, error) {
	return nil, nil
}

// Goroutines are workers of this process. When f returns nil the worker leaves, else it is lost to the others, for that reason. Its context ends with the gang.
func Goroutines(f func(ctx context.Context, w *Worker) error) Workers { return &goroutines{f} }

type goroutines struct {
	f func(ctx context.Context, w *Worker) error
}

func (*goroutines) later() bool { return false }

// party are goroutines that run.
type party struct {
	cancel context.CancelFunc
	all    sync.WaitGroup
}

func (p *party) kill() { p.cancel() }

func (p *party) wait(ctx context.Context) {
	done := make(chan struct{})
	go func() { p.all.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (b *goroutines) start(ctx context.Context, g *Gang, invitations []string, failed func(int, error)) (running, error) {
	p := &party{}
	var inner context.Context
	inner, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	for rank, text := range invitations {
		p.all.Go(func() {
			if err := b.work(inner, text, g.o); err != nil {
				failed(rank, err)
			}
		})
	}
	return p, nil
}

func (b *goroutines) work(ctx context.Context, text string, o Options) (err error) {
	w, err := EnterAs(ctx, text, EnterOptions{Backend: o.Backend, Comm: o.Comm})
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { _ = w.Close() })() // a worker that was killed
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		if err != nil {
			err = errors.Join(err, w.Abandon(err))
			return
		}
		err = w.Close()
	}()
	return b.f(ctx, w)
}

// Processes are a program with its arguments, started once for each worker on this machine with its place in VOLLEY_GANG, and its share of the processors in
// VOLLEY_THREADS unless that is set.
func Processes(program string, args ...string) Workers {
	return &processes{append([]string{program}, args...)}
}

type processes struct{ command []string }

func (*processes) later() bool { return false }

// children are processes that run.
type children struct {
	commands []*exec.Cmd
	ended    []chan struct{}
}

func (b *processes) start(_ context.Context, g *Gang, invitations []string, failed func(int, error)) (running, error) {
	c := &children{}
	for rank, text := range invitations {
		p := exec.Command(b.command[0], b.command[1:]...)
		p.Env = append(withThreads(os.Environ(), len(invitations)), g.o.Env...)
		p.Env = append(p.Env, Variable+"="+text)
		p.Stdout, p.Stderr = g.o.Stdout, g.o.Stderr
		if p.Stdout == nil {
			p.Stdout = os.Stdout
		}
		if p.Stderr == nil {
			p.Stderr = os.Stderr
		}
		p.WaitDelay = time.Second // for what it started itself and left behind
		ownGroup(p)
		if err := p.Start(); err != nil {
			return c, fmt.Errorf("rank %d: %w", rank, err)
		}
		ended := make(chan struct{})
		c.commands, c.ended = append(c.commands, p), append(c.ended, ended)
		go func() {
			err := p.Wait()
			if err == nil {
				err = errors.New("it has ended")
			}
			failed(rank, fmt.Errorf("its process: %w", err))
			close(ended)
		}()
	}
	return c, nil
}

func (c *children) kill() {
	for i, p := range c.commands {
		select {
		case <-c.ended[i]:
		default:
			killGroup(p.Process)
		}
	}
}

func (c *children) wait(ctx context.Context) {
	for _, ended := range c.ended {
		select {
		case <-ended:
		case <-ctx.Done():
			return
		}
	}
}

// withThreads is an environment with a worker's share of the processors, unless it says something of its own.
func withThreads(environment []string, workers int) []string {
	for _, variable := range environment {
		if value, ok := strings.CutPrefix(variable, processors.Variable+"="); ok && value != "" {
			return environment
		}
	}
	return append(environment[:len(environment):len(environment)], fmt.Sprintf("%s=%d", processors.Variable, max(1, processors.Count()/workers)))
}
