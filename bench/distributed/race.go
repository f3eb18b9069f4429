package distributed

import (
	"context"
	"fmt"
	"slices"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/rounds"
	"github.com/volley-go/volley/bench/worker"
)

// race is one call of Run.
type race struct {
	Options
	dir     string
	to      report.Sink
	p       progress.Progress
	engines []engine // the local operators first, then ranks, then peers
	machine rounds.Race
	lines   []*Line
	notes   []string
	missing []string // operations and peers that have no time
}

// racer is an engine at one operation.
type racer struct {
	engine
	lacks string // why it does not race
	wrong string // how its answer is not the one that is wanted
	known bool   // whether that was looked at
	report.Timing
	cpu float64
}

// failed notes what a peer failed at, or that its process ended; any other error is given back.
func (r *racer) failed(err error) error {
	r.lacks, err = worker.Lacks(err)
	return err
}

// one races at one operation.
func (r *race) one(ctx context.Context, op *operation) error {
	var all []*racer
	for _, e := range r.engines {
		_, own := e.(*ours)
		if own && (op.local != nil || e.name() != oursName) || !own && !op.alone {
			all = append(all, &racer{engine: e})
		}
	}
	r.p.Start(op.name+", answers", int64(len(all)))
	err := r.check(ctx, op, all)
	r.p.Done()
	if err != nil {
		return err
	}
	l := &Line{Op: op.name, MinS: map[string]float64{}, Memory: map[string]Memory{}}
	r.p.Start(op.name+", rounds", int64(r.Rounds))
	err = r.rounds(ctx, op, all, l)
	r.p.Done()
	if err != nil {
		return err
	}
	if err := r.measure(ctx, op, all, l); err != nil {
		return err
	}
	return r.add(op, all, l)
}

// check holds everybody's answer against that of the local operators.
func (r *race) check(ctx context.Context, op *operation, all []*racer) error {
	if op.local == nil {
		return nil
	}
	want, err := all[0].answer(ctx, op)
	if err != nil {
		return err
	}
	defer want.Release()
	r.p.Add(1)
	for _, e := range all[1:] {
		got, err := e.answer(ctx, op)
		if err != nil {
			if err = e.failed(err); err != nil {
				return err
			}
			continue
		}
		e.known = true
		e.wrong, err = differs(ctx, want, got, op.ordered)
		got.Release()
		if err != nil {
			return err
		}
		if e.wrong != "" {
			r.notes = append(r.notes, fmt.Sprintf("%s, %s: a wrong answer: %s.", op.name, e.name(), e.wrong))
		}
		r.p.Add(1)
	}
	return nil
}

// rounds lets all take turns.
func (r *race) rounds(ctx context.Context, op *operation, all []*racer, l *Line) (err error) {
	list := make([]*rounds.Racer[turn], len(all))
	for i, e := range all {
		list[i] = &rounds.Racer[turn]{Lacks: e.lacks, Turn: func(ctx context.Context) (turn, error) { return e.run(ctx, op) }, Keep: func(t turn) {
			e.Seconds = append(e.Seconds, t.Seconds...)
			e.cpu += t.CPU
		}}
	}
	l.Taken, err = rounds.Run(ctx, &r.machine, r.Rounds, list)
	for i, e := range all {
		e.lacks = list[i].Lacks
	}
	return err
}

// measure finds what memory our engines take, and for a shuffle what the transport moves.
func (r *race) measure(ctx context.Context, op *operation, all []*racer, l *Line) error {
	for _, e := range all {
		own, ok := e.engine.(*ours)
		if !ok {
			continue
		}
		lists, err := own.lists(ctx, callMemory, op.name)
		if err != nil {
			return err
		}
		var m Memory
		for _, n := range lists {
			m.Input, m.Output, m.Sent = m.Input+int64(n[0]), m.Output+int64(n[1]), m.Sent+int64(n[3])
			if m.Peak += int64(n[2]); n[2] < 0 {
				m.Unknown = true
			}
		}
		l.Memory[own.called] = m
		if op.name != "shuffle" || len(lists) < 2 {
			continue
		}
		times, err := own.lists(ctx, callAllToAll, int64(r.Rounds))
		if err != nil {
			return err
		}
		moved := float64(m.Input) * float64(len(lists)-1) / float64(len(lists))
		fastest := slices.Min(slowest(times, len(times[0])))
		l.Bandwidth = append(l.Bandwidth, Bandwidth{Engine: own.called, ShuffleGBs: moved / e.Min() / 1e9, AllToAllGBs: moved / fastest / 1e9})
	}
	return nil
}

// add takes in what the engines did, and records it.
func (r *race) add(op *operation, all []*racer, l *Line) error {
	for _, e := range all {
		if e.lacks != "" {
			r.missing = append(r.missing, op.name+", "+e.name())
			r.notes = append(r.notes, fmt.Sprintf("%s, %s: %s.", op.name, e.name(), e.lacks))
			continue
		}
		rec := report.Record{Suite: "distributed", Op: op.name, Engine: e.name(), Version: e.release(), Device: "cpu", Rows: report.Of(r.Rows), Threads: r.Threads, Unsteady: l.Unsteady}
		if n := r.ranksOf(e.name()); n > 0 {
			rec.Ranks, rec.Threads = n, 1
		}
		rec.SetTiming(e.Timing)
		if m, ok := l.Memory[e.name()]; ok && !m.Unknown {
			rec.GrowthBytes = report.Of(max(0, m.Peak))
		}
		if total := sum(e.Seconds); total > 0 && e.cpu > 0 {
			rec.CPUs = report.Of(e.cpu / total)
		}
		if e.known {
			rec.OK = report.Of(e.wrong == "")
		}
		if err := r.to.Record(rec); err != nil {
			return err
		}
		if e.wrong == "" {
			l.MinS[e.name()] = e.Min()
		}
	}
	r.lines = append(r.lines, l)
	return nil
}

// ranksOf is how many ranks an engine of ours is, 0 of any other.
func (r *race) ranksOf(name string) int {
	for _, n := range r.Ranks {
		if name == fmt.Sprintf("%s-%d", oursName, n) {
			return n
		}
	}
	return 0
}

func sum(list []float64) (s float64) {
	for _, x := range list {
		s += x
	}
	return s
}
