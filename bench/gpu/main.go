package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/volley-go/volley/bench/report"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gpu FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// step is a part of the run.
type step struct {
	Step    string  `json:"step"`
	Status  string  `json:"status"` // "passed", "failed", "missing"
	Seconds float64 `json:"seconds"`
	Why     string  `json:"why"`
}

// record is a measurement, of volley's suites or of a round beside the peers.
type record struct {
	report.Record
	Turn int `json:"turn"`
}

// results is all of a run, as it is kept.
type results struct {
	Device  string    `json:"device"`
	Model   string    `json:"model"`
	Driver  string    `json:"driver"`
	Judged  bool      `json:"judged"` // false on an emulated device
	Steps   []step    `json:"steps"`
	Targets []verdict `json:"targets"`
	Bench   []record  `json:"bench"`
	Peers   []record  `json:"peers"`
	Queries []record  `json:"queries"` // whole queries, on the CPU and on the device
}

func run(folder string, to io.Writer) error {
	var r results
	if err := errors.Join(
		lines(filepath.Join(folder, "steps.jsonl"), &r.Steps),
		lines(filepath.Join(folder, "bench.jsonl"), &r.Bench),
		lines(filepath.Join(folder, "peers.jsonl"), &r.Peers),
		lines(filepath.Join(folder, "queries.jsonl"), &r.Queries),
	); err != nil {
		return err
	}
	for _, all := range [][]record{r.Bench, r.Peers} {
		for _, one := range all {
			if r.Device == "" && one.Engine == "volley" {
				r.Device, r.Model, r.Driver = one.Device, one.Model, one.Driver
			}
		}
	}
	r.Judged = !strings.Contains(strings.ToLower(r.Model), "emulated")
	r.Targets = judge(&r)
	text, err := json.MarshalIndent(&r, "", "\t")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "gpu-check.json"), append(text, '\n'), 0o666); err != nil {
		return err
	}
	return show(&r, to)
}

// lines reads a file of one object of JSON a line. Answers among the lines, which
// are no measurements, are passed over.
func lines[T any](path string, all *[]T) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		var answer struct {
			Answer json.RawMessage `json:"answer"`
		}
		var one T
		if err := errors.Join(json.Unmarshal([]byte(line), &answer), json.Unmarshal([]byte(line), &one)); err != nil {
			return fmt.Errorf("%s: %q: %w", path, line, err)
		}
		if answer.Answer == nil {
			*all = append(*all, one)
		}
	}
	return nil
}

func show(r *results, to io.Writer) error {
	parts := report.Grid{Title: "Parts of the run", Header: []string{"part", "status", "seconds", "why"}, Left: []bool{true, true, false, true}}
	for _, s := range r.Steps {
		parts.Add(s.Step, s.Status, fmt.Sprint(s.Seconds), s.Why)
	}
	targets := report.Grid{
		Title:  fmt.Sprintf("Targets on %s (%s)", r.Model, r.Driver),
		Header: []string{"target", "needed", "measured", "verdict", "from"}, Left: []bool{true, false, false, true, true},
	}
	if !r.Judged {
		targets.Note = "An emulated device: its figures mean nothing and no target is judged."
	}
	for _, t := range r.Targets {
		measured := ""
		if t.Value != nil {
			measured = fmt.Sprintf("%.2f", *t.Value)
		}
		targets.Add(t.Target, fmt.Sprintf("%.2f", t.Needed), measured, t.Verdict, t.From)
	}
	grids := []report.Grid{parts, targets}
	if len(r.Queries) > 0 {
		grids = append(grids, beside(r.Queries))
	}
	for i, g := range grids {
		if i > 0 {
			if _, err := fmt.Fprintln(to); err != nil {
				return err
			}
		}
		if err := g.WriteText(to); err != nil {
			return err
		}
	}
	return nil
}
