package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

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
	if f.rounds < 1 {
		return usagef("--rounds %d: there must be one at least", f.rounds)
	}
	machines, err := f.machines(cmd)
	if err != nil {
		return err
	}
	if err := f.keep(d, machines); err != nil {
		return err
	}
	var all []tune.Prediction
	for _, m := range machines {
		found, err := m.Predictions(cmd.Context())
		if err != nil {
			return err
		}
		all = append(all, found...)
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
	costs := report.Grid{Title: "What messages cost", Left: []bool{true}, Header: []string{"transport", "α", "1/β", "1/γ", "a change of ranks"},
		Note: "β and γ with two ranks at work on vectors of 1 MiB."}
	for _, m := range machines {
		x := m.Figures.Model()
		costs.Add(m.Figures.Transport, report.Seconds(x.Alpha), benchsim.PerSecond(x.Beta), benchsim.PerSecond(x.Gamma), change(m.Figures))
	}
	grids := []report.Grid{costs}
	if hosts := benchsim.Hosts(machines); hosts.Rows != nil {
		grids = append(grids, hosts)
	}
	return writeGrids(cmd.OutOrStdout(), append(grids, benchsim.Compared(all), benchsim.Operations(all)))
}

// machines measures the transports, or takes the middle of what was measured.
func (f *simulateFlags) machines(cmd *cobra.Command) ([]*tune.Machine, error) {
	if len(f.recordings) == 0 {
		return calibrateRounds(cmd.Context(), f.transports, f.rounds, progress.New(cmd.ErrOrStderr()))
	}
	of := map[string][]*tune.Machine{}
	for _, file := range f.recordings {
		all, err := readMachines(file)
		if err != nil {
			return nil, err
		}
		for _, m := range all {
			if m.Figures == nil || !m.Figures.Complete() {
				return nil, fmt.Errorf("%s: figures are missing", file)
			}
			of[m.Figures.Transport] = append(of[m.Figures.Transport], m)
		}
	}
	var all []*tune.Machine
	for _, name := range f.transports {
		if len(of[name]) == 0 {
			return nil, fmt.Errorf("%s: no figures of %s", strings.Join(f.recordings, ", "), name)
		}
		m, err := tune.Middle(of[name]...)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// change is how long it takes until another rank has a processor that ranks share.
func change(f *tune.Figures) string {
	if f.Crowd == nil {
		return ""
	}
	return report.Seconds(f.Crowd.Near - f.Crowd.Send - f.Crowd.Recv)
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
	_, err := saveTuning(f.tuning, "volley simulate --calibrate", d, machines)
	return err
}
