package loader

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/volley-go/volley/bench/report"
)

// Line is what a race at one operation came to. Times are in seconds.
type Line struct {
	Data    string           `json:"data"` // made, flights, or a path
	Op      string           `json:"op"`
	Rows    int64            `json:"rows"`
	Columns int64            `json:"columns"`
	Engines map[string]Entry `json:"engines"`
	LimitS  float64          `json:"limit_min_s,omitempty"`    // the gather of random rows by a plain loop
	AheadS  float64          `json:"ahead_min_s,omitempty"`    // by one that asks for rows before it copies them
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
	o     Options
	lines []Line
}

// name is the operation with the set of data before it, unless that was made.
func (l *Line) name() string {
	if l.Data == Made {
		return l.Op
	}
	return filepath.Base(l.Data) + " " + l.Op
}

// add writes the records of an operation.
func (s *summary) add(l Line, all []*racer, of limits, to report.Sink) error {
	l.Engines = map[string]Entry{}
	ours := 0.0
	for _, r := range all {
		if r.name == "volley" && len(r.Seconds) > 0 {
			ours = r.Min()
		}
	}
	for _, loop := range []struct {
		name    string
		seconds []float64
		least   *float64
	}{{"limit", of.plain, &l.LimitS}, {"limit-ahead", of.ahead, &l.AheadS}} {
		if len(loop.seconds) == 0 {
			continue
		}
		t := report.Timing{Seconds: loop.seconds}
		*loop.least = t.Min()
		if err := s.record(&l, loop.name, "", t, nil, nil, to); err != nil {
			return err
		}
	}
	if ours > 0 {
		l.Share = l.LimitS / ours
	}
	for _, r := range all {
		e := Entry{Missing: r.lacks, Wrong: r.wrong}
		if len(r.Seconds) > 0 {
			e.MinS, e.MedianS, e.FirstS, e.Growth = r.Min(), r.Median(), (&report.Timing{Seconds: r.first}).Median(), r.growth
			if ours > 0 {
				e.Ratio = e.MinS / ours
			}
			if err := s.record(&l, r.name, r.Version, r.Timing, report.Of(r.wrong == ""), report.Of(r.growth), to); err != nil {
				return err
			}
		}
		l.Engines[r.name] = e
	}
	l.Targets = targetsOf(&l, s.o.Batch)
	s.lines = append(s.lines, l)
	return nil
}

// record writes the times of an engine; the bytes are those of the batches, read
// and written.
func (s *summary) record(l *Line, engine, version string, t report.Timing, ok *bool, growth *int64, to report.Sink) error {
	r := report.Record{
		Suite: "loader", Op: l.name(), Engine: engine, Version: version, Device: "cpu", Rows: report.Of(l.Rows), Threads: s.o.Threads, OK: ok, GrowthBytes: growth,
	}
	r.SetTiming(t)
	r.SetBytes(8*l.Rows*l.Columns, 0)
	return to.Record(r)
}

// answer is the table of ratios; engines without times are named with the reason
// below it.
func (s *summary) answer() report.Answer {
	g := &report.Grid{
		Title:  fmt.Sprintf("Epochs of shuffled batches of %d rows", s.o.Batch),
		Header: []string{"rows", "columns", "from", "engine", "fastest", "median", "first batch", "growth", "over ours"},
		Left:   []bool{false, false, true, true, false, false, false, false, false},
	}
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	for _, l := range s.lines {
		lacking := map[string][]string{}
		for _, name := range Engines() {
			e, known := l.Engines[name]
			if !known {
				continue
			}
			if e.MinS > 0 {
				over := ""
				if e.Ratio > 0 {
					over = fmt.Sprintf("%.2f", e.Ratio)
				}
				g.Add(report.Count(l.Rows), fmt.Sprint(l.Columns), l.name(), name,
					report.Seconds(e.MinS), report.Seconds(e.MedianS), report.Seconds(e.FirstS), report.Bytes(e.Growth), over)
			}
			switch {
			case strings.HasPrefix(e.Missing, "failed: "):
				note("%s, %s: %s.", l.name(), name, strings.TrimSuffix(e.Missing, "."))
			case e.Missing != "":
				lacking[e.Missing] = append(lacking[e.Missing], name)
			}
			if e.Wrong != "" {
				note("%s, %s: wrong: %s.", l.name(), name, e.Wrong)
			}
		}
		for _, why := range slices.Sorted(maps.Keys(lacking)) {
			note("%s: not raced, since %s: %s.", l.name(), why, strings.Join(lacking[why], ", "))
		}
		if l.LimitS > 0 {
			note("%s: a plain loop gathers as many random rows from a matrix in %s: ours reaches %.0f %% of that. One that asks for rows before it copies them: %s.",
				l.name(), report.Seconds(l.LimitS), 100*l.Share, report.Seconds(l.AheadS))
		}
	}
	for _, l := range s.lines {
		for _, t := range l.Targets {
			note("%s", t.String(l.name()))
		}
	}
	g.Note = strings.Join(slices.Compact(notes), "\n")
	return report.Answer{Suite: "loader", Value: map[string]any{"loaders": s.lines}, Grid: g}
}
