package tpch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/rounds"
	"github.com/volley-go/volley/bench/worker"
)

const (
	// turnTime is how long a turn repeats a short query, turnMost how often.
	turnTime = 30 * time.Millisecond
	turnMost = 20
)

// race is one call of Run.
type race struct {
	Options
	dir     string
	to      report.Sink
	p       progress.Progress
	ours    *ours
	peers   []engine
	machine rounds.Race
	lines   []Line
	notes   []string
	missing []string // queries and peers that have no time
}

// start makes the engines ready, each with the tables.
func (r *race) start(ctx context.Context) (err error) {
	r.p.Start("load the tables", int64(1+len(r.Peers)))
	defer r.p.Done()
	if r.ours, err = newOurs(ctx, r.Backend, r.Folder, r.Files); err != nil {
		r.ours = nil
		return err
	}
	r.p.Add(1)
	if len(r.Peers) == 0 {
		return nil
	}
	if err := worker.Unpack(programs, r.dir); err != nil {
		return fmt.Errorf("tpch: %w", err)
	}
	argv := append(slices.Clone(r.Python), filepath.Join(r.dir, "worker.py"))
	folder, err := filepath.Abs(r.Folder)
	if err != nil {
		return fmt.Errorf("tpch: %w", err)
	}
	for _, name := range r.Peers {
		if !slices.Contains(Peers(), name) {
			return fmt.Errorf("tpch: no peer %q; there are %v", name, Peers())
		}
		w, err := worker.Start(ctx, "tpch", argv, name, r.Threads)
		if err != nil {
			return err
		}
		p := &peer{w}
		r.peers = append(r.peers, p)
		if _, err := p.ask(ctx, command{Do: "load", Folder: folder, Files: r.Files}); err != nil {
			return err
		}
		r.p.Add(1)
	}
	return nil
}

func (r *race) close() (err error) {
	if r.ours != nil {
		err = r.ours.close()
	}
	for _, p := range r.peers {
		err = errors.Join(err, p.close())
	}
	return err
}

// racer is an engine at one query.
type racer struct {
	engine
	lacks string // why it does not race
	wrong string // how its answer is not the one that is wanted
	known bool   // whether that was looked at
	report.Timing
	cpu, wall float64
}

// failed notes what a peer failed at, or that its process ended; any other error is given back.
func (r *racer) failed(err error) error {
	r.lacks, err = worker.Lacks(err)
	return err
}

// one races at one query.
func (r *race) one(ctx context.Context, q Query) error {
	all := []*racer{{engine: r.ours}}
	for _, p := range r.peers {
		all = append(all, &racer{engine: p})
	}
	r.p.Start(q.Name+", answers", int64(len(all)))
	err := r.check(ctx, q, all)
	r.p.Done()
	if err != nil {
		return err
	}
	l := Line{Query: q.Name, MinS: map[string]float64{}, CPUs: map[string]float64{}}
	r.p.Start(q.Name+", rounds", int64(r.Rounds))
	err = r.rounds(ctx, q, all, &l)
	r.p.Done()
	if err != nil {
		return err
	}
	return r.add(q, all, l)
}

// check runs the query once everywhere and holds the answers against the one that is wanted: that of
// the folder or of a run before, or else DuckDB's.
func (r *race) check(ctx context.Context, q Query, all []*racer) error {
	want, err := r.want(q)
	if err != nil {
		return err
	}
	answers := make([]*Answer, len(all))
	for i, e := range all {
		a, _, err := e.answer(ctx, q, r.dir)
		if err != nil {
			if err = e.failed(err); err != nil {
				return err
			}
		}
		if answers[i] = a; want == nil && a != nil && e.name() == "duckdb" {
			want = a
		}
		r.p.Add(1)
	}
	if r.Seen != nil && r.Seen[q.Name] == nil && answers[0] != nil {
		r.Seen[q.Name] = answers[0]
	}
	for i, e := range all {
		if want == nil || answers[i] == nil || answers[i] == want && len(all) == 1 {
			continue
		}
		e.known = true
		if e.wrong = answers[i].Differs(want); e.wrong != "" {
			r.notes = append(r.notes, fmt.Sprintf("%s, %s: a wrong answer: %s.", q.Name, e.name(), e.wrong))
		}
	}
	return nil
}

// rounds lets all take turns.
func (r *race) rounds(ctx context.Context, q Query, all []*racer, l *Line) (err error) {
	list := make([]*rounds.Racer[turn], len(all))
	for i, e := range all {
		list[i] = &rounds.Racer[turn]{Lacks: e.lacks, Turn: func(ctx context.Context) (turn, error) { return e.run(ctx, q, turnTime, turnMost) }, Keep: func(t turn) {
			e.Seconds = append(e.Seconds, t.Seconds...)
			e.cpu += t.CPU
			e.wall += t.Wall
		}}
	}
	l.Taken, err = rounds.Run(ctx, &r.machine, r.Rounds, list)
	for i, e := range all {
		e.lacks = list[i].Lacks
	}
	return err
}

// add takes in what the engines did, and records it.
func (r *race) add(q Query, all []*racer, l Line) error {
	best := math.Inf(1)
	for _, e := range all {
		if e.lacks != "" {
			r.missing = append(r.missing, q.Name+", "+e.name())
			r.notes = append(r.notes, fmt.Sprintf("%s, %s: %s.", q.Name, e.name(), e.lacks))
			continue
		}
		rec := report.Record{Suite: "tpch", Op: q.Name, Engine: e.name(), Version: e.release(), Device: "cpu", Threads: r.Threads, Unsteady: l.Unsteady}
		if e.engine == engine(r.ours) {
			rec.Device = r.Backend.Device.Name()
		}
		if r.Files {
			rec.Way = "files"
		}
		rec.SetTiming(e.Timing)
		if e.wall > 0 && e.cpu > 0 {
			rec.CPUs = report.Of(e.cpu / e.wall)
			l.CPUs[e.name()] = e.cpu / e.wall
		}
		if e.known {
			rec.OK = report.Of(e.wrong == "")
		}
		if err := r.to.Record(rec); err != nil {
			return err
		}
		l.MinS[e.name()] = e.Min()
		if e.engine != engine(r.ours) && e.wrong == "" && e.Min() < best {
			best, l.Best = e.Min(), e.name()
		}
	}
	if l.Best != "" {
		l.Ratio = best / l.MinS[oursName]
	}
	r.lines = append(r.lines, l)
	return nil
}
