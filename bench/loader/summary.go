package loader

import (
	"fmt"
	"slices"
	"strings"

	"github.com/volley-go/volley/bench/report"
)

// Line is what a race at one operation came to. Times are in seconds.
type Line struct {
	Op      string           `json:"op"`
	Rows    int64            `json:"rows"`
	Columns int64            `json:"columns"`
	Engines map[string]Entry `json:"engines"`
	LimitS  float64          `json:"limit_min_s,omitempty"`    // the gather of random rows
	Share   float64          `json:"share_of_limit,omitempty"` // the limit over ours
	Targets []Target         `json:"targets,omitempty"`
}

// Entry is one engine at one operation.
type Entry struct {
	MinS    float64 `json:"min_s,omitempty"`
	MedianS float64 `json:"median_s,omitempty"`
	FirstS  float64 `json:"first_batch_s,omitempty"` // median
	Growth  int64   `json:"growth_bytes"`
	Ratio   float64 `json:"ratio,omitempty"` // over ours: above 1 ours is faster
	Missing string  `json:"missing,omitempty"`
	Wrong   string  `json:"wrong,omitempty"`
}

// summary collects what all operations came to.
type summary struct {
	o             Options
	rows, columns int64
	lines         []Line
}

// add writes the records of an operation.
func (s *summary) add(op string, all []*racer, limits report.Timing, to report.Sink) error {
	l := Line{Op: op, Rows: s.rows, Columns: s.columns, Engines: map[string]Entry{}}
	ours := 0.0
	for _, r := range all {
		if r.Name == "volley" && len(r.Seconds) > 0 {
			ours = r.Min()
		}
	}
	if len(limits.Seconds) > 0 {
		l.LimitS = limits.Min()
		if ours > 0 {
			l.Share = l.LimitS / ours
		}
		if err := s.record(op, "limit", "", limits, nil, nil, to); err != nil {
			return err
		}
	}
	for _, r := range all {
		e := Entry{Missing: r.lacks, Wrong: r.wrong}
		if len(r.Seconds) > 0 {
			e.MinS, e.MedianS, e.FirstS, e.Growth = r.Min(), r.Median(), (&report.Timing{Seconds: r.first}).Median(), r.growth
			if ours > 0 {
				e.Ratio = e.MinS / ours
			}
			if err := s.record(op, r.Name, r.Version, r.Timing, report.Of(r.wrong == ""), report.Of(r.growth), to); err != nil {
				return err
			}
		}
		l.Engines[r.Name] = e
	}
	l.Targets = targetsOf(&l, s.o.Batch)
	s.lines = append(s.lines, l)
	return nil
}

// record writes the times of an engine; the bytes are those of the batches, read
// and written.
func (s *summary) record(op, engine, version string, t report.Timing, ok *bool, growth *int64, to report.Sink) error {
	r := report.Record{
		Suite: "loader", Op: op, Engine: engine, Version: version, Device: "cpu", Rows: report.Of(s.rows), Threads: s.o.Threads, OK: ok, GrowthBytes: growth,
	}
	r.SetTiming(t)
	r.SetBytes(8*s.rows*s.columns, 0)
	return to.Record(r)
}

// answer is the table of ratios.
func (s *summary) answer() report.Answer {
	g := &report.Grid{
		Title:  fmt.Sprintf("Epochs of %s rows of %d columns, batches of %d", report.Count(s.rows), s.columns, s.o.Batch),
		Header: []string{"from", "engine", "fastest", "median", "first batch", "growth", "over ours"},
		Left:   []bool{true, true, false, false, false, false, false},
	}
	var notes []string
	for _, l := range s.lines {
		for _, name := range Engines() {
			e, known := l.Engines[name]
			switch {
			case !known:
			case e.MinS == 0 && strings.HasPrefix(e.Missing, "failed: "):
				notes = append(notes, fmt.Sprintf("%s, %s: %s.", l.Op, name, e.Missing))
			case e.MinS > 0:
				g.Add(l.Op, name, report.Seconds(e.MinS), report.Seconds(e.MedianS), report.Seconds(e.FirstS), report.Bytes(e.Growth), fmt.Sprintf("%.2f", e.Ratio))
			}
			if e.Wrong != "" {
				notes = append(notes, fmt.Sprintf("%s, %s: %s.", l.Op, name, e.Wrong))
			}
		}
		if l.LimitS > 0 {
			notes = append(notes, fmt.Sprintf("A plain loop gathers as many random rows from a matrix in %s: ours reaches %.0f %% of that.", report.Seconds(l.LimitS), 100*l.Share))
		}
	}
	for _, l := range s.lines {
		for _, t := range l.Targets {
			notes = append(notes, t.String(l.Op))
		}
	}
	for _, n := range slices.Compact(notes) {
		if g.Note != "" {
			g.Note += "\n"
		}
		g.Note += n
	}
	return report.Answer{Suite: "loader", Value: map[string]any{"loaders": s.lines}, Grid: g}
}
