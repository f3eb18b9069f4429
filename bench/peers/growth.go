package peers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/memory"
)

// Grown is how long ours took for a row of an operation at each size.
type Grown struct {
	Op      string  `json:"op"`
	Ordered bool    `json:"ordered"` // in the order that is promised without AnyOrder
	Sizes   []Size  `json:"sizes"`
	Time    float64 `json:"growth"`     // time a row at the last size over that at the first
	CPU     float64 `json:"growth_cpu"` // the same of processor time
}

// Size is what one size took.
type Size struct {
	Rows   int64   `json:"rows"` // of each input
	NS     float64 `json:"ns_row"`
	CPUNS  float64 `json:"cpu_ns_row"` // of all threads together
	Growth *int64  `json:"growth_bytes,omitempty"`

	Rounds   int `json:"rounds"`
	Retaken  int `json:"rounds_retaken"`  // because the machine gave less
	Unsteady int `json:"rounds_unsteady"` // that count although the machine gave less
}

// GrowthOperations lists the operations that [Grow] runs if nobody names others:
// those whose tables leave the caches as rows become more.
func GrowthOperations() []string {
	return slices.DeleteFunc(InMemory(), func(name string) bool {
		return !strings.HasPrefix(name, "groupby_") && !strings.HasPrefix(name, "join_")
	})
}

// InMemory lists the operations that read no file.
func InMemory() (names []string) {
	for i := range problems {
		if problems[i].file == "" {
			names = append(names, problems[i].name)
		}
	}
	return names
}

// Grow runs ours alone at several sizes, for how its time a row grows. The fields
// of o that name peers and rows are not looked at. Operations with and without an
// order of rows are held against each other. Each size of an operation is a record,
// and its growth a row of the [report.Answer] at the end. It stops within 100 ms
// of the end of ctx, but for the making and checking of data, which it finishes.
func Grow(ctx context.Context, o Options, sizes []int64, to report.Sink, p progress.Progress) error {
	if len(sizes) == 0 {
		return errors.New("peers: no sizes to grow over")
	}
	for _, n := range sizes {
		if n < 1 || n > math.MaxInt32 {
			return fmt.Errorf("peers: %d rows, from 1 to %d are possible", n, math.MaxInt32)
		}
	}
	if o.Backend.Device.Place() != memory.Host {
		return fmt.Errorf("peers: %s is not the host", o.Backend.Device.Name())
	}
	e := &race{rounds: o.Rounds, contenders: []contender{&ours{backend: o.Backend}, &ours{backend: o.Backend, ordered: true}}}
	if e.gauge = o.gauge; e.gauge == nil {
		var err error
		if e.gauge, err = report.NewGauge(o.Threads); err != nil {
			return err
		}
	}
	var lines []*Grown
	for _, name := range o.Ops {
		i := slices.IndexFunc(problems, func(p problem) bool { return p.name == name && p.file == "" })
		if i < 0 {
			return fmt.Errorf("peers: no operation %q in memory; there are %v", name, InMemory())
		}
		of := []*Grown{{Op: name}, {Op: name, Ordered: true}}
		for _, n := range sizes {
			if err := e.grow(ctx, &problems[i], n, o, of, to, p); err != nil {
				return fmt.Errorf("peers: %s at %d rows: %w", name, n, err)
			}
		}
		for _, g := range of {
			if len(g.Sizes) > 0 {
				first, last := g.Sizes[0], g.Sizes[len(g.Sizes)-1]
				g.Time, g.CPU = last.NS/first.NS, last.CPUNS/first.CPUNS
				lines = append(lines, g)
			}
		}
	}
	return to.Answer(growthAnswer(lines, sizes))
}

// grow runs one size of one problem.
func (e *race) grow(ctx context.Context, pr *problem, n int64, o Options, of []*Grown, to report.Sink, p progress.Progress) error {
	p.Start(fmt.Sprintf("%s, %s rows", pr.name, report.Count(n)), int64(e.rounds))
	defer p.Done()
	defer debug.FreeOSMemory() // the next size's input beside this one's may be more than the machine has
	s := &stage{records: pr.inputs(n)}
	read := int64(0)
	for _, r := range s.records {
		read += bytesOfAll([]arrow.RecordBatch{r})
	}
	if pr.read != nil {
		read = pr.read(n)
	}
	all, err := e.prepare(ctx, pr, s, progress.Nothing())
	if err == nil {
		err = e.run(ctx, all, p)
	}
	_, uerr := e.unload(ctx)
	if err = errors.Join(err, uerr); err != nil {
		return err
	}
	for i, r := range all {
		if !r.races() {
			continue
		}
		rec := report.Record{
			Suite: "columnar", Op: pr.name, Engine: r.name(), Version: r.release(), Device: "cpu", Rows: report.Of(n),
			Threads: o.Threads, Way: r.way.Name, GrowthBytes: r.growth, Unsteady: e.unsteady,
		}
		rec.SetTiming(r.Timing)
		rec.SetBytes(read+r.print.Bytes, 0)
		if r.cpu > 0 && r.wall > 0 {
			rec.CPUs = report.Of(r.cpu / r.wall)
		}
		if i > 0 {
			rec.OK = report.Of(r.wrong == "")
		}
		if err := to.Record(rec); err != nil {
			return err
		}
		of[i].Sizes = append(of[i].Sizes, Size{
			Rows: n, NS: r.Min() * 1e9 / float64(n), CPUNS: r.leastCPU * 1e9 / float64(n), Growth: r.growth,
			Rounds: e.rounds, Retaken: e.retaken, Unsteady: e.unsteady,
		})
	}
	return nil
}

// growthAnswer is the table of nanoseconds a row.
func growthAnswer(lines []*Grown, sizes []int64) report.Answer {
	g := &report.Grid{
		Title:  "Nanoseconds a row",
		Header: []string{"op", "order"},
		Left:   []bool{true, true},
		Note: "Of the fastest run; cpu is processor time of all threads together, of the round that took least. Growth is the last size's over the first's: 1 is linear. " +
			"Memory is how far the resident memory of the process grew in the first run, a row of the last size.",
	}
	for _, n := range sizes {
		g.Header = append(g.Header, report.Count(n), "cpu")
	}
	g.Header = append(g.Header, "growth", "cpu", "memory")
	fallen := new(falls)
	for _, l := range lines {
		row := []string{l.Op, map[bool]string{false: "any", true: "default"}[l.Ordered]}
		for _, s := range l.Sizes {
			if !l.Ordered { // both orders are in the same rounds
				fallen.add(l.Op+" at "+report.Count(s.Rows), s.Rounds, s.Retaken, s.Unsteady)
			}
			row = append(row, starred(fmt.Sprintf("%.2f", s.NS), s.Unsteady), fmt.Sprintf("%.2f", s.CPUNS))
		}
		last := l.Sizes[len(l.Sizes)-1]
		g.Add(append(row, fmt.Sprintf("%.2f", l.Time), fmt.Sprintf("%.2f", l.CPU),
			dash(last.Growth != nil, func() string { return fmt.Sprintf("%.1f B", float64(*last.Growth)/float64(last.Rows)) }))...)
	}
	g.Note = strings.Join(append([]string{g.Note}, fallen.notes()...), "\n")
	return report.Answer{Suite: "columnar", Value: map[string]any{"growth": lines}, Grid: g}
}
