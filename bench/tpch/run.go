package tpch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/rounds"
	"github.com/volley-go/volley/kernels"
)

// Options is what to run on and against whom.
type Options struct {
	Backend *kernels.Backend // whose time is taken
	Folder  string           // of the Parquet files
	Scale   float64          // of the data, for the report
	Files   bool             // queries read the files; else tables in memory
	Queries []string         // names of [Queries]
	Python  []string         // the interpreter that has the peers, and its arguments
	Peers   []string         // names as [Peers] lists them; none for ours alone
	Rounds  int              // rounds of each query
	Threads int              // threads that each may use
	// Seen are our answers by query, of runs on other devices: a run is held against them
	// where the folder has none, and adds its own. Nil where there is one run.
	Seen map[string]*Answer

	gauge rounds.Gauge // for tests; nil for that of package report
}

// Names lists the queries.
func Names() []string {
	names := make([]string, len(Queries))
	for i, q := range Queries {
		names[i] = q.Name
	}
	return names
}

// Peers lists the other engines.
func Peers() []string { return []string{"duckdb", "polars"} }

// Run runs the queries, ours and those of peers in turns. Each engine's times are a record, whose OK
// tells whether its answer is that of the files of the folder's own answers, or else one of [Options].Seen, or
// DuckDB's where it takes part; the ratios are an [report.Answer] at the end. It stops within 100 ms of the end of ctx.
//
// A peer that fails at a query, or whose process ends, is missing there; the error of the run, after its
// answer, is then a [report.Incomplete].
func Run(ctx context.Context, o Options, to report.Sink, p progress.Progress) (err error) {
	dir, err := os.MkdirTemp("", "volley-tpch-")
	if err != nil {
		return fmt.Errorf("tpch: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := &race{Options: o, dir: dir, to: to, p: p}
	if r.machine = (rounds.Race{Gauge: o.gauge, Add: p.Add}); o.gauge == nil {
		if r.machine.Gauge, err = report.NewGauge(o.Threads); err != nil {
			return err
		}
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.start(ctx); err != nil {
		return err
	}
	for _, name := range o.Queries {
		i := slices.IndexFunc(Queries, func(q Query) bool { return q.Name == name })
		if i < 0 {
			return fmt.Errorf("tpch: no query %q; there are %v", name, Names())
		}
		if err := r.one(ctx, Queries[i]); err != nil {
			return fmt.Errorf("tpch: %s: %w", name, err)
		}
	}
	if err := to.Answer(r.answer()); err != nil {
		return err
	}
	if len(r.missing) > 0 {
		return &report.Incomplete{Text: fmt.Sprintf("tpch: missing: %v", r.missing)}
	}
	return nil
}

// Line is one query of a race. Times are in seconds.
type Line struct {
	Query string             `json:"query"`
	MinS  map[string]float64 `json:"min_s"` // the fastest run of each engine
	CPUs  map[string]float64 `json:"cpus"`
	Best  string             `json:"best,omitempty"`  // the fastest peer whose answer is right
	Ratio float64            `json:"ratio,omitempty"` // its time over ours: above 1 ours is faster
	rounds.Taken
}

// want is the answer that is known of a query before it is run: that of a folder that has answers, or
// else of a run before.
func (r *race) want(q Query) (*Answer, error) {
	a, err := ReadAnswer(filepath.Join(r.Folder, "answers", q.Name+".csv"))
	if errors.Is(err, os.ErrNotExist) {
		return r.Seen[q.Name], nil
	}
	return a, err
}

// answer is the table of times and ratios.
func (r *race) answer() report.Answer {
	names := []string{oursName}
	for _, w := range r.peers {
		names = append(names, w.name())
	}
	from := "memory"
	if r.Files {
		from = "Parquet files"
	}
	title := fmt.Sprintf("TPC-H at scale %v from %s", r.Scale, from)
	if name := r.Backend.Device.Name(); name != "cpu" {
		title += " on " + name
	}
	g := &report.Grid{Title: title + ": fastest runs", Header: append([]string{"query"}, names...), Left: []bool{true}}
	if len(r.peers) > 0 {
		g.Header = append(g.Header, "best peer", "ratio")
	}
	g.Header = append(g.Header, "CPUs")
	logs, count := map[string]float64{}, map[string]int{}
	add := func(name string, ratio float64) {
		logs[name], count[name] = logs[name]+math.Log(ratio), count[name]+1
	}
	for _, l := range r.lines {
		row, cpus := []string{l.Query}, ""
		for _, name := range names {
			cell := "–"
			if s, ok := l.MinS[name]; ok {
				cell = report.Seconds(s)
				cpus += fmt.Sprintf(" %.1f", l.CPUs[name])
				if name != oursName {
					add(name, s/l.MinS[oursName])
				}
			}
			row = append(row, cell)
		}
		if len(r.peers) > 0 {
			ratio := "–"
			if l.Best != "" {
				add("the best peer", l.Ratio)
				ratio = fmt.Sprintf("%.2f", l.Ratio)
				if l.Unsteady > 0 {
					ratio += "*"
				}
			}
			row = append(row, l.Best, ratio)
		}
		g.Add(append(row, cpus)...)
	}
	means := map[string]float64{}
	for _, name := range append(slices.Clone(names[1:]), "the best peer") {
		if count[name] > 0 {
			means[name] = math.Exp(logs[name] / float64(count[name]))
			g.Note += fmt.Sprintf("%s over ours, geometric mean of %d queries: %.2f.\n", name, count[name], means[name])
		}
	}
	g.Note += fmt.Sprintf("Each engine has %d threads. CPUs are processor seconds a second, in the order of the columns.", r.Threads)
	for _, n := range r.notes {
		g.Note += "\n" + n
	}
	value := map[string]any{"device": r.Backend.Device.Name(), "scale": r.Scale, "from": from, "queries": r.lines, "geometric_means": means}
	return report.Answer{Suite: "tpch", Value: value, Grid: g}
}
