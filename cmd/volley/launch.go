package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/internal/processors"
)

// exitStatus is the failure of a command whose own exit status is another's.
type exitStatus struct {
	status int
	text   string
}

func (e exitStatus) Error() string { return e.text }

// launchOptions is what "volley launch" is told.
type launchOptions struct {
	Ranks int
	Grace time.Duration // between the first failure or signal and the end of the others
}

func newLaunch() *cobra.Command {
	var o launchOptions
	cmd := &cobra.Command{
		Use:   "launch -n ranks [--grace time] -- program [argument...]",
		Short: "Start the ranks of a program on this machine",
		Long: `launch starts a program once for each rank, with the variables that torchrun
sets: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, GROUP_RANK, MASTER_ADDR and
MASTER_PORT, a free port of the loopback device. It is for trials on one machine;
clusters have launchers of their own, whose variables volley knows too.

What the ranks print is passed on by line, with the rank in front. Signals are
passed on to all. When a rank fails, the others have the grace time to end by
themselves and are then killed; the exit status is that of the first that failed.
Should launch itself be killed, its ranks are killed with it.

Each rank gets its share of the processors as VOLLEY_THREADS, unless that is set.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("launch needs a program: volley launch -n 4 -- program")
			}
			if o.Ranks < 1 || o.Ranks > 4096 {
				return usagef("-n %d: from 1 to 4096 ranks can be started", o.Ranks)
			}
			if o.Grace < 0 {
				return usagef("--grace %v is negative", o.Grace)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return launch(cmd.Context(), o, args, os.Environ(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().IntVarP(&o.Ranks, "ranks", "n", 1, "ranks to start")
	cmd.Flags().DurationVar(&o.Grace, "grace", 5*time.Second, "time that the others have after one failed, or after a signal")
	return cmd
}

// ended is the end of one rank.
type ended struct {
	rank int
	err  error
}

// launch runs the ranks to their ends.
func launch(ctx context.Context, o launchOptions, args, environment []string, stdout, stderr io.Writer) error {
	port, letGo, err := holdPort()
	if err != nil {
		return fmt.Errorf("a port for the ranks to meet at: %w", err)
	}
	defer letGo()
	signals, stop := forwarded()
	defer stop()
	defer staysOnThread()()
	g, err := startGuard()
	if err != nil {
		return fmt.Errorf("the process that ends the ranks should launch be killed: %w", err)
	}
	defer g.end()
	var lines sync.Mutex // keeps the lines of different ranks apart
	var children []*exec.Cmd
	ends := make(chan ended, o.Ranks)
	run := "volley-" + rand.Text()
	environment = withThreads(environment, o.Ranks)
	var failed error
	for rank := 0; rank < o.Ranks && failed == nil; rank++ {
		c := exec.Command(args[0], args[1:]...)
		c.Env = append(environment[:len(environment):len(environment)], rankVariables(rank, o.Ranks, port, run)...)
		prefix := fmt.Sprintf("[%d] ", rank)
		out, errs := &prefixed{to: stdout, prefix: prefix, lines: &lines}, &prefixed{to: stderr, prefix: prefix, lines: &lines}
		c.Stdout, c.Stderr = out, errs
		c.WaitDelay = time.Second // for what the rank itself started and left behind
		ownGroup(c)
		if err := c.Start(); err != nil {
			failed = fmt.Errorf("rank %d: %w", rank, err)
			break
		}
		children = append(children, c)
		if err := g.add(c.Process); err != nil {
			failed = fmt.Errorf("rank %d: %w", rank, err)
		}
		go func() {
			err := c.Wait()
			g.drop(c.Process)
			if errors.Is(err, exec.ErrWaitDelay) { // what it left behind has its output open
				err = nil
			}
			ends <- ended{rank, errors.Join(err, out.end(), errs.end())}
		}()
	}
	return (&launched{children: children, gone: make([]bool, len(children)), ends: ends, failed: failed, grace: o.Grace}).wait(ctx, signals)
}

// launched is the ranks that were started.
type launched struct {
	children []*exec.Cmd
	gone     []bool
	ends     chan ended
	failed   error
	grace    time.Duration
}

// wait passes signals on and returns when all have ended.
func (l *launched) wait(ctx context.Context, signals <-chan os.Signal) error {
	var late <-chan time.Time
	if l.failed != nil {
		l.signal(os.Kill) // not all could be started
	}
	canceled := ctx.Done()
	for left := len(l.children); left > 0; {
		select {
		case e := <-l.ends:
			left--
			l.gone[e.rank] = true
			if e.err != nil && l.failed == nil {
				l.failed = failure(e)
				late = time.After(l.grace)
			}
		case s := <-signals:
			l.signal(s)
		case <-canceled: // by a signal, which is passed on, or by a caller
			canceled = nil
			if late == nil {
				late = time.After(l.grace)
			}
		case <-late:
			l.signal(os.Kill)
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return l.failed
}

// signal sends it to the ranks, and what they have started, that have not been seen to end.
func (l *launched) signal(s os.Signal) {
	for rank, c := range l.children {
		if !l.gone[rank] {
			signalGroup(c.Process, s)
		}
	}
}

// failure gives the first failing rank's exit status; as shells do, 128 and the
// signal's number for one that a signal ended.
func failure(e ended) error {
	text := fmt.Sprintf("rank %d: %v", e.rank, e.err)
	var exit *exec.ExitError
	if !errors.As(e.err, &exit) {
		return exitStatus{statusFailure, text}
	}
	if n := signalOf(exit.ProcessState); n > 0 {
		return exitStatus{128 + n, text}
	}
	return exitStatus{exit.ExitCode(), text}
}

// withThreads is an environment with a rank's share of the processors, unless it says something of its own.
func withThreads(environment []string, ranks int) []string {
	for _, variable := range environment {
		if name, value, _ := strings.Cut(variable, "="); name == processors.Variable && value != "" {
			return environment
		}
	}
	share := max(1, runtime.GOMAXPROCS(0)/ranks)
	return append(environment[:len(environment):len(environment)], processors.Variable+"="+strconv.Itoa(share))
}

func rankVariables(rank, size, port int, run string) []string {
	return []string{
		"RANK=" + strconv.Itoa(rank), "WORLD_SIZE=" + strconv.Itoa(size),
		"LOCAL_RANK=" + strconv.Itoa(rank), "LOCAL_WORLD_SIZE=" + strconv.Itoa(size),
		"GROUP_RANK=0", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + strconv.Itoa(port),
		"VOLLEY_RUN_ID=" + run, "VOLLEY_ADDRESS=", "VOLLEY_PORT=", "TORCHELASTIC_USE_AGENT_STORE=",
	}
}
