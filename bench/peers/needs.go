package peers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/worker"
)

// Need is what the process of an engine needs of resident memory for one
// operation, bytes. Start is what it has with the engine loaded and no input,
// Input with the input in place as the engine likes it best and what loading it
// took given back, and Peak the most that it has while the operation runs once.
type Need struct {
	Start int64 `json:"start_rss_bytes"`
	Input int64 `json:"input_rss_bytes"`
	Peak  int64 `json:"peak_rss_bytes"`
}

// Whole is what input and operation need together.
func (n Need) Whole() int64 { return max(n.Peak-n.Start, 0) }

// Growth is what the operation needs above its input.
func (n Need) Growth() int64 { return max(n.Peak-n.Input, 0) }

// NeedLine is what all engines need for one operation.
type NeedLine struct {
	Op      string             `json:"op"`
	Rows    int64              `json:"rows"`
	Engines map[string]NeedOf  `json:"engines"`
	Missing map[string]string  `json:"missing,omitempty"`
	Second  string             `json:"second,omitempty"` // the peer that needs least but for one
	Ratio   map[string]float64 `json:"ratio,omitempty"`  // what ours need over what it needs, as a whole

	died []string // engines whose processes ended
}

// NeedOf is the way of an engine that needs least as a whole.
type NeedOf struct {
	Way string `json:"way"`
	Need
}

// Needs measures what memory each operation needs: each engine's, and each of its
// ways', in a new process that loads the engine, takes the input from Arrow files
// and runs the operation once. So no process has memory of an earlier operation to
// use again. Of Rounds such processes the one that needs least counts, and of an
// engine's ways the one that needs least. self is the program, with arguments, that
// calls [Serve] with the engine's name and the number of threads after them. Each
// engine is a record, OK telling whether its result has as many rows as ours; how
// ours compare is an [report.Answer] at the end. On systems without
// /proc/self/clear_refs the error is [report.ErrNotKnown]. It stops within 100 ms of
// the end of ctx, but for the making of data, which it finishes. With engines whose
// processes ended the error, after the answer, is a [report.Incomplete].
func Needs(ctx context.Context, o Options, self []string, to report.Sink, p progress.Progress) (err error) {
	if o.Rows < 1 || o.Rows > math.MaxInt32 {
		return fmt.Errorf("peers: %d rows, from 1 to %d are possible", o.Rows, math.MaxInt32)
	}
	if o.Rounds < 1 {
		return fmt.Errorf("peers: %d rounds, at least 1 is needed", o.Rounds)
	}
	if err := named(o.Peers); err != nil {
		return err
	}
	if err := report.ResetPeakRSS(); err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	dir, err := os.MkdirTemp("", "volley-peers-")
	if err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := worker.Unpack(programs, dir); err != nil {
		return fmt.Errorf("peers: %w", err)
	}
	n := &needs{o: o, self: self, dir: dir, python: append(slices.Clone(o.Python), filepath.Join(dir, "worker.py"))}
	var lines []NeedLine
	var missing []string
	for _, name := range o.Ops {
		i := slices.IndexFunc(problems, func(p problem) bool { return p.name == name })
		if i < 0 {
			return fmt.Errorf("peers: no operation %q; there are %v", name, Operations())
		}
		l, err := n.one(ctx, &problems[i], to, p)
		if err != nil {
			return fmt.Errorf("peers: %s: %w", name, err)
		}
		lines = append(lines, *l)
		for _, engine := range l.died {
			missing = append(missing, name+", "+engine)
		}
	}
	return errors.Join(to.Answer(needsAnswer(o, lines)), ended(missing))
}

// needs is a run of Needs.
type needs struct {
	o            Options
	self, python []string
	dir          string
}

// one measures one operation.
func (n *needs) one(ctx context.Context, pr *problem, to report.Sink, p progress.Progress) (*NeedLine, error) {
	engines := append([]string{oursName, orderedName}, n.o.Peers...)
	p.Start(pr.name+", memory", int64(len(engines)))
	defer p.Done()
	c := command{Do: "measure", Op: pr.name, Inputs: map[string]string{}}
	folder, err := os.MkdirTemp(n.dir, pr.name+"-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // the folder above it goes at the end
	for name, r := range pr.inputs(n.o.Rows) {
		c.Inputs[name] = filepath.Join(folder, name+".arrow")
		if err := writeArrow(c.Inputs[name], r); err != nil {
			return nil, err
		}
	}
	if pr.file != "" {
		if c, err = n.file(ctx, pr, c, folder); err != nil {
			return nil, err
		}
	}
	l := &NeedLine{Op: pr.name, Rows: n.o.Rows, Engines: map[string]NeedOf{}, Missing: map[string]string{}, Ratio: map[string]float64{}}
	rows := int64(-1)
	for _, name := range engines {
		if name == orderedName && !pr.anyOrder {
			p.Add(1)
			continue
		}
		least, a, version, err := n.engine(ctx, name, c)
		why, died := lost(err)
		if died {
			l.died = append(l.died, name)
		}
		switch {
		case why != "":
			l.Missing[name] = why
		case err != nil:
			return nil, err
		case least == nil:
			l.Missing[name] = a.Lacks
		default:
			if rows < 0 {
				rows = a.Rows
			}
			l.Engines[name] = *least
			err := to.Record(report.Record{
				Suite: "columnar", Op: pr.name, Engine: name, Version: version, Device: "cpu", Rows: report.Of(n.o.Rows), Threads: n.o.Threads, Way: least.Way,
				PeakRSSBytes: report.Of(least.Peak), WholeBytes: report.Of(least.Whole()), GrowthBytes: report.Of(least.Growth()), OK: report.Of(a.Rows == rows),
			})
			if err != nil {
				return nil, err
			}
		}
		p.Add(1)
	}
	l.compare(n.o.Peers)
	return l, nil
}

// file has a peer write the file that the operation reads.
func (n *needs) file(ctx context.Context, pr *problem, c command, folder string) (command, error) {
	c.File = filepath.Join(folder, "table."+map[bool]string{true: "csv", false: "parquet"}[pr.file == "csv"])
	err := n.ask(ctx, n.o.Peers[0], command{Do: "write", Kind: pr.file, From: c.Inputs["t"], Path: c.File}, &answer{}, new(string))
	c.Inputs = map[string]string{}
	return c, err
}

// engine measures the ways of one engine; without one a tells why.
func (n *needs) engine(ctx context.Context, name string, c command) (least *NeedOf, a *needAnswer, version string, err error) {
	of := 1
	for c.Nth = 0; c.Nth < of; c.Nth++ {
		for range n.o.Rounds {
			got := &needAnswer{}
			if err = n.ask(ctx, name, c, got, &version); err != nil {
				return nil, nil, "", err
			}
			if a == nil {
				a = got
			}
			if got.Lacks != "" {
				return nil, got, version, nil
			}
			if of = got.Of; least == nil || got.Whole() < least.Whole() {
				least, a = &NeedOf{got.Way, got.Need}, got
			}
		}
	}
	return least, a, version, nil
}

// ask starts a process for one command.
func (n *needs) ask(ctx context.Context, name string, c command, to any, version *string) error {
	argv := n.python
	if name == oursName || name == orderedName {
		argv = n.self
	}
	w, err := worker.Start(ctx, "peers", argv, name, n.o.Threads)
	if err != nil {
		return err
	}
	*version = w.Version
	return errors.Join(w.Ask(ctx, c.Do, c, to), w.Close())
}

// compare finds the peer that needs least but for one, or the only one.
func (l *NeedLine) compare(peers []string) {
	var able []string
	for _, name := range peers {
		if _, ok := l.Engines[name]; ok {
			able = append(able, name)
		}
	}
	if len(able) == 0 {
		return
	}
	slices.SortStableFunc(able, func(a, b string) int { return int(l.Engines[a].Whole() - l.Engines[b].Whole()) })
	l.Second = able[min(1, len(able)-1)]
	for _, name := range []string{oursName, orderedName} {
		if e, ok := l.Engines[name]; ok {
			l.Ratio[name] = float64(e.Whole()) / float64(max(l.Engines[l.Second].Whole(), 1))
		}
	}
}

// needsAnswer is the table of needs.
func needsAnswer(o Options, lines []NeedLine) report.Answer {
	engines := append([]string{oursName, orderedName}, o.Peers...)
	g := &report.Grid{
		Title:  fmt.Sprintf("Resident memory that an operation needs at %s rows, MiB", report.Count(o.Rows)),
		Header: append(append([]string{"op"}, engines...), "second of peers", "ours over it", "ordered"),
		Left:   []bool{true},
		Note: "Of a new process: its peak while the operation runs once less what it had before it took its input, so for input, operation and result; " +
			"in brackets, less what it had with its input in place. The least of the engine's ways.",
	}
	for _, l := range lines {
		row := []string{l.Op}
		for _, name := range engines {
			e, ok := l.Engines[name]
			row = append(row, dash(ok, func() string { return fmt.Sprintf("%d (%d)", e.Whole()>>20, e.Growth()>>20) }))
		}
		ratio := func(name string) string {
			v, ok := l.Ratio[name]
			return dash(ok, func() string { return fmt.Sprintf("%.2f", v) })
		}
		for _, name := range slices.Sorted(maps.Keys(l.Missing)) {
			g.Note += fmt.Sprintf("\n%s, %s: %s.", l.Op, name, l.Missing[name])
		}
		g.Add(append(row, l.Second, ratio(oursName), ratio(orderedName))...)
	}
	return report.Answer{Suite: "columnar", Value: map[string]any{"memory": lines}, Grid: g}
}
