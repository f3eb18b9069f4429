package tpch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/worker"
	"github.com/volley-go/volley/kernels"
)

// Need is what the process of an engine needs of resident memory for one query, bytes. Input is what it has with the tables in
// place, or the files open, and what loading took given back; Peak the most that it has while the query runs once.
type Need struct {
	Input int64 `json:"input_rss_bytes"`
	Peak  int64 `json:"peak_rss_bytes"`
}

// Growth is what the query needs above the tables.
func (n Need) Growth() int64 { return max(n.Peak-n.Input, 0) }

// NeedLine is what all engines need for one query.
type NeedLine struct {
	Query   string          `json:"query"`
	Engines map[string]Need `json:"engines"`
	Ratio   float64         `json:"ratio,omitempty"` // of growths: ours over that of the first peer that ran it
}

// Needs measures what memory each query needs beyond its tables: each engine's in a new process that loads the tables of
// o.Folder, or opens the files, and runs the query once. Of o.Rounds such processes the one that needs least counts. self is the
// program, with arguments, that calls [Serve] with an engine's name and the number of threads after them. Each engine is a record;
// ours beside the first peer's is an [report.Answer] at the end. On systems without /proc/self/clear_refs the error is
// [report.ErrNotKnown]. It stops within 100 ms of the end of ctx. An engine that fails at a query is missing there; the error of
// the run, after its answer, is then a [report.Incomplete].
func Needs(ctx context.Context, o Options, self []string, to report.Sink, p progress.Progress) (err error) {
	if o.Rounds < 1 {
		return fmt.Errorf("tpch: %d rounds, at least 1 is needed", o.Rounds)
	}
	if err := report.ResetPeakRSS(); err != nil {
		return fmt.Errorf("tpch: %w", err)
	}
	if o.Folder, err = filepath.Abs(o.Folder); err != nil {
		return fmt.Errorf("tpch: %w", err)
	}
	dir, err := os.MkdirTemp("", "volley-tpch-")
	if err != nil {
		return fmt.Errorf("tpch: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := worker.Unpack(programs, dir); err != nil {
		return fmt.Errorf("tpch: %w", err)
	}
	n := &needs{Options: o, self: self, python: append(slices.Clone(o.Python), filepath.Join(dir, "worker.py")), to: to}
	for _, name := range o.Queries {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("tpch: no query %q; there are %v", name, Names())
		}
		p.Start(name+", memory", int64(1+len(o.Peers)))
		err := n.one(ctx, name, p)
		p.Done()
		if err != nil {
			return fmt.Errorf("tpch: %s: %w", name, err)
		}
	}
	if err := to.Answer(n.answer()); err != nil {
		return err
	}
	if len(n.missing) > 0 {
		return &report.Incomplete{Text: fmt.Sprintf("tpch: missing: %s", strings.Join(n.missing, "; "))}
	}
	return nil
}

// needs is a call of Needs.
type needs struct {
	Options
	self, python []string
	to           report.Sink
	lines        []NeedLine
	missing      []string
}

// one measures one query.
func (n *needs) one(ctx context.Context, query string, p progress.Progress) error {
	l := NeedLine{Query: query, Engines: map[string]Need{}}
	for _, name := range append([]string{oursName}, n.Peers...) {
		least, version, err := n.engine(ctx, query, name)
		var failed *worker.Failure
		var died *worker.Died
		switch {
		case errors.As(err, &failed) || errors.As(err, &died):
			n.missing = append(n.missing, fmt.Sprintf("%s, %s: %v", query, name, err))
		case err != nil:
			return err
		default:
			l.Engines[name] = least
			err := n.to.Record(report.Record{Suite: "tpch", Op: query, Engine: name, Version: version, Device: "cpu", Threads: n.Threads,
				PeakRSSBytes: report.Of(least.Peak), GrowthBytes: report.Of(least.Growth())})
			if err != nil {
				return err
			}
		}
		p.Add(1)
	}
	l.compare(n.Peers)
	n.lines = append(n.lines, l)
	return nil
}

// engine is the least that an engine needs for a query.
func (n *needs) engine(ctx context.Context, query, name string) (least Need, version string, err error) {
	argv := n.python
	if name == oursName {
		argv = n.self
	}
	for round := range n.Rounds {
		w, err := worker.Start(ctx, "tpch", argv, name, n.Threads)
		if err != nil {
			return least, "", err
		}
		var got Need
		err = w.Ask(ctx, "measure", command{Do: "measure", Folder: n.Folder, Files: n.Files, Query: query}, &got)
		version = w.Version
		if err = errors.Join(err, w.Close()); err != nil {
			return least, "", err
		}
		if round == 0 || got.Growth() < least.Growth() {
			least = got
		}
	}
	return least, version, nil
}

// compare holds ours against the first peer that ran the query.
func (l *NeedLine) compare(peers []string) {
	ours, ok := l.Engines[oursName]
	for _, name := range peers {
		if theirs, there := l.Engines[name]; ok && there {
			l.Ratio = float64(ours.Growth()) / float64(max(theirs.Growth(), 1))
			return
		}
	}
}

// answer is the table of needs.
func (n *needs) answer() report.Answer {
	engines := append([]string{oursName}, n.Peers...)
	g := &report.Grid{
		Title:  fmt.Sprintf("TPC-H at scale %v: memory that a query needs, MiB", n.Scale),
		Header: append([]string{"query"}, engines...), Left: []bool{true},
		Note: "Resident memory of a new process: its peak while the query runs once, above what it had with its tables in place.",
	}
	if len(n.Peers) > 0 {
		g.Header = append(g.Header, "ours over "+n.Peers[0])
	}
	sum, count := 0.0, 0
	for _, l := range n.lines {
		row := []string{l.Query}
		for _, name := range engines {
			cell := "–"
			if e, ok := l.Engines[name]; ok {
				cell = fmt.Sprint(e.Growth() >> 20)
			}
			row = append(row, cell)
		}
		if len(n.Peers) > 0 {
			row = append(row, fmt.Sprintf("%.2f", l.Ratio))
		}
		if l.Ratio > 0 {
			sum, count = sum+math.Log(l.Ratio), count+1
		}
		g.Add(row...)
	}
	if count > 0 {
		g.Note += fmt.Sprintf("\nGeometric mean of %d queries, ours over the first peer's: %.2f.", count, math.Exp(sum/float64(count)))
	}
	for _, m := range n.missing {
		g.Note += "\n" + m + "."
	}
	return report.Answer{Suite: "tpch", Value: map[string]any{"memory": n.lines, "scale": n.Scale}, Grid: g}
}

// Serve makes this process the worker of ours for [Needs], until in ends.
func Serve(ctx context.Context, b *kernels.Backend, name string, in io.Reader, out io.Writer) error {
	if name != oursName {
		return fmt.Errorf("tpch: no engine %q of ours", name)
	}
	return worker.Serve(in, out, func(c command) (any, error) {
		if c.Do != "measure" {
			return nil, fmt.Errorf("unknown command %q", c.Do)
		}
		return measure(ctx, b, c)
	})
}

// measure loads the tables and runs a query once.
func measure(ctx context.Context, b *kernels.Backend, c command) (n *Need, err error) {
	i := slices.IndexFunc(Queries, func(q Query) bool { return q.Name == c.Query })
	if i < 0 {
		return nil, fmt.Errorf("no query %q", c.Query)
	}
	o, err := newOurs(ctx, b, c.Folder, c.Files)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	n = &Need{}
	if n.Input, err = worker.Resident(b); err != nil {
		return nil, err
	}
	t, err := Queries[i].Plan(o.data).Collect(ctx)
	if err != nil {
		return nil, err
	}
	defer t.Release()
	n.Peak, err = report.PeakRSS()
	return n, err
}
