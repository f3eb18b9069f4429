package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

// benchFlags are the flags that every suite has.
type benchFlags struct {
	devices       []string
	asJSON        bool
	out           string
	threads, runs int
}

func newBench(d deps) *cobra.Command {
	var f benchFlags
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what volley reaches on the devices of this machine",
		Long: `bench runs a suite of measurements. Times are medians after a warm-up; every
answer is checked, and a wrong one makes the exit status 1.

"bench columnar,gemm,transfer" runs several suites after another: those that
make their own data.`,
	}
	p := cmd.PersistentFlags()
	p.StringSliceVar(&f.devices, "device", nil, "`names` of devices, such as cpu; all that are found when not given")
	p.BoolVar(&f.asJSON, "json", false, "print one JSON object a line, as each step is done")
	p.StringVar(&f.out, "out", "", "`folder` to write JSON lines, PNG charts and an HTML page to")
	p.IntVar(&f.threads, "threads", runtime.GOMAXPROCS(0), "threads that the CPU may use")
	p.IntVar(&f.runs, "runs", 5, "timed runs of each step")
	if d.flights != nil {
		cmd.AddCommand(newFlights(d, &f))
	}
	if d.columnar != nil {
		cmd.AddCommand(newColumnar(d, &f))
	}
	if d.tpch != nil {
		cmd.AddCommand(newTPCH(d, &f))
	}
	if d.gemm != nil {
		cmd.AddCommand(newGEMM(d, &f))
	}
	if d.transfer != nil {
		cmd.AddCommand(newTransfer(d, &f))
	}
	if d.collective != nil {
		cmd.AddCommand(newCollective(d, &f))
	}
	if d.distributed != nil {
		cmd.AddCommand(newDistributed(d, &f))
	}
	if d.loader != nil {
		cmd.AddCommand(newLoader(d, &f))
	}
	cmd.AddCommand(newChart())
	severalSuites(cmd, d, &f)
	return cmd
}

// check finds what is wrong with the flags before any work begins.
func (f *benchFlags) check() error {
	if f.threads < 1 {
		return usagef("--threads is %d, at least 1 is needed", f.threads)
	}
	if f.runs < 1 {
		return usagef("--runs is %d, at least 1 is needed", f.runs)
	}
	for _, d := range f.devices {
		if strings.TrimSpace(d) == "" {
			return usagef("--device has an empty name")
		}
	}
	return nil
}

// suite is a suite with its own options filled in.
type suite func(ctx context.Context, o benchOptions, to report.Sink, p progress.Progress) error

// bench runs a suite and shows what it found: also after a failure what was
// found before it, but files are written only of a suite that came to its end.
func bench(cmd *cobra.Command, d deps, f *benchFlags, name string, run suite) error {
	ctx, start := cmd.Context(), time.Now()
	if f.out != "" {
		// Before the work, so that a folder that cannot be made does not cost it.
		if err := os.MkdirAll(f.out, 0o777); err != nil {
			return err
		}
	}
	p := progress.New(cmd.ErrOrStderr())
	p.Start("calibrate memory bandwidth", 0)
	limit, err := d.calibrate(ctx, f.threads)
	p.Done()
	if err != nil {
		return err
	}
	lines := io.Discard
	if f.asJSON {
		lines = cmd.OutOrStdout()
	}
	to := &collector{lines: report.NewWriter(lines)}
	err = run(ctx, benchOptions{Devices: f.devices, Threads: f.threads, Runs: f.runs, Limit: limit}, to, p)
	p.Done()
	page := to.page(name, start, d.machine(), limit)
	if !f.asJSON {
		if perr := printText(cmd.OutOrStdout(), page); err == nil {
			err = perr
		}
	}
	var part *report.Incomplete
	if err != nil && !errors.As(err, &part) {
		return err
	}
	if f.out != "" {
		files, ferr := writeFiles(f.out, name, page)
		if ferr != nil {
			return errors.Join(err, ferr)
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s\n", strings.Join(files, ", "))
	}
	return errors.Join(to.wrong(), err)
}
