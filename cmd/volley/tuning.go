package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/bench/progress"
	benchsim "github.com/volley-go/volley/bench/simulate"
	"github.com/volley-go/volley/collective"
	"github.com/volley-go/volley/collective/tune"
)

// calibrateTransports measures transports of this machine, one after the other.
func calibrateTransports(ctx context.Context, transports []string, p progress.Progress) ([]*tune.Machine, error) {
	return calibrateRounds(ctx, transports, tune.Rounds, p)
}

// calibrateRounds does it so often.
func calibrateRounds(ctx context.Context, transports []string, rounds int, p progress.Progress) ([]*tune.Machine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var all []*tune.Machine
	for _, name := range transports {
		m, err := benchsim.Calibrate(ctx, []string{self, "simulate", "--rank"}, name, rounds, all, p)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// saveTuning writes the tuning table of what was measured, and returns it. by is the
// command that measured.
func saveTuning(path, by string, d deps, machines []*tune.Machine) (*collective.Tuning, error) {
	m := d.machine()
	t := tune.Table(fmt.Sprintf("%s, %s, %d threads of %s", by, time.Now().UTC().Format(time.RFC3339), m.Threads, m.CPU), machines...)
	return t, writeFile(path, func(w io.Writer) error {
		_, err := t.WriteTo(w)
		return err
	})
}

// measuresItself are the flags of "bench collective" that say what is timed, which
// --tune does by itself.
var measuresItself = []string{"ops", "sizes", "ranks", "peers", "against", "out", "runs", "threads", "device"}

// tuneTo is "volley bench collective --tune".
func (c *collectiveFlags) tuneTo(cmd *cobra.Command, d deps, f *benchFlags) error {
	for _, name := range measuresItself {
		if cmd.Flags().Changed(name) {
			return usagef("--tune: --%s does not go with it: what is measured is always the same", name)
		}
	}
	if _, err := c.options(d.collective); err != nil {
		return err
	}
	for _, name := range c.transports {
		if slices.Contains(d.collective.launched, name) {
			return usagef("--tune: ranks over %s cannot be measured so, known are %s", name, strings.Join(d.collective.devices, ", "))
		}
	}
	if _, err := os.Stat(filepath.Dir(c.tune)); err != nil {
		return err // before minutes of measuring
	}
	machines, err := d.collective.tune(cmd.Context(), c.transports, progress.New(cmd.ErrOrStderr()))
	if err != nil {
		return err
	}
	t, err := saveTuning(c.tune, "volley bench collective --tune", d, machines)
	if err != nil {
		return err
	}
	if f.asJSON {
		_, err := t.WriteTo(cmd.OutOrStdout())
		return err
	}
	if err := writeGrids(cmd.OutOrStdout(), benchsim.Tuned(t)); err != nil {
		return err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "wrote %s: %s=%s has Comms use it\n", c.tune, collective.TuningVariable, c.tune)
	return nil
}
