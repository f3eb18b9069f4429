package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	benchsim "github.com/volley-go/volley/bench/simulate"
	"github.com/volley-go/volley/collective/tune"
)

// measure is "volley simulate --calibrate".
func (f *simulateFlags) measure(cmd *cobra.Command, d deps) error {
	for i, name := range f.transports {
		if !slices.Contains([]string{"shm", "tcp", "inproc"}, name) || slices.Contains(f.transports[:i], name) {
			return usagef("--transports: unknown or repeated name %q, known are shm, tcp, inproc", name)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p := progress.New(cmd.ErrOrStderr())
	var machines []*tune.Machine
	var all []tune.Prediction
	for _, name := range f.transports {
		m, err := benchsim.Calibrate(cmd.Context(), []string{self, "simulate", "--rank"}, name, p)
		if err != nil {
			return err
		}
		machines = append(machines, m)
		found, err := m.Predictions(cmd.Context())
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	if err := f.keep(d, machines); err != nil {
		return err
	}
	if f.asJSON {
		lines := json.NewEncoder(cmd.OutOrStdout())
		for _, p := range all {
			if err := lines.Encode(p); err != nil {
				return err
			}
		}
		return nil
	}
	costs := report.Grid{Title: "What messages cost", Left: []bool{true}, Header: []string{"transport", "α", "1/β", "1/γ", "a hop, 4 ranks"},
		Note: "β and γ with two ranks at work on vectors of 1 MiB."}
	for _, m := range machines {
		x := m.Figures.Model()
		costs.Add(m.Figures.Transport, report.Seconds(x.Alpha), perSecond(x.Beta), perSecond(x.Gamma), report.Seconds(m.Figures.Hop))
	}
	return writeGrids(cmd.OutOrStdout(), []report.Grid{costs, benchsim.Compared(all)})
}

// perSecond is a time a byte as a speed.
func perSecond(seconds float64) string {
	if seconds <= 0 {
		return "nothing"
	}
	return fmt.Sprintf("%.1f GB/s", 1e-9/seconds)
}

// keep writes the files that were asked for.
func (f *simulateFlags) keep(d deps, machines []*tune.Machine) error {
	if f.save != "" {
		if err := writeFile(f.save, func(w io.Writer) error {
			e := json.NewEncoder(w)
			e.SetIndent("", " ")
			return e.Encode(machines)
		}); err != nil {
			return err
		}
	}
	if f.tuning == "" {
		return nil
	}
	m := d.machine()
	source := fmt.Sprintf("volley simulate --calibrate, %s, %d threads of %s", time.Now().UTC().Format(time.RFC3339), m.Threads, m.CPU)
	return writeFile(f.tuning, func(w io.Writer) error {
		_, err := tune.Table(source, machines...).WriteTo(w)
		return err
	})
}
