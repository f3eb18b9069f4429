package peers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/worker"
)

const (
	// fell is the share of the best reading below which a round is run again:
	// a host that gives one core of two shows half.
	fell = 0.75
	// Rounds of an operation are run again until that was done retakes times for each
	// round, or has taken retakeTime; what falls later counts, and is marked.
	retakes    = 4
	retakeTime = 30 * time.Second
	// turnTime is how long a turn repeats a short operation, turnMost how often.
	turnTime = 30 * time.Millisecond
	turnMost = 20
	// A contender that took more than slow times as long as the fastest in its
	// first run, and would take more than slowTime in all, is timed in as many
	// rounds as fit into that, and in fewRounds at least.
	slow      = 3
	slowTime  = time.Minute
	fewRounds = 2
	// near is how much slower than an engine's fastest way another may be at
	// first to be tried again.
	near = 1.5
)

// racer is a contender at one problem.
type racer struct {
	contender
	way    way
	lacks  string // why it does not race
	died   bool   // because its process ended
	print  *Fingerprint
	growth *int64
	rounds int    // that it is in
	wrong  string // how its result is not ours
	first  float64
	report.Timing
	cpu, wall float64
	leastCPU  float64 // processor seconds of a run, in the turn where they were least
	beside    []beside
}

// beside is a turn's fastest run, and the better of what the machine gave right
// before and right after the turn.
type beside struct {
	seconds float64
	machine report.Reading
}

// races reports whether it has a time.
func (r *racer) races() bool { return r.lacks == "" }

// gauge tells what the machine gives right now.
type gauge interface {
	Read(ctx context.Context) (report.Reading, error)
}

// race is all that runs problems.
type race struct {
	contenders []contender
	rounds     int
	gauge      gauge
	best       report.Reading // of all readings so far
	retaken    int
	unsteady   int // rounds that count although the machine gave less
}

// roundsOf is how many of the rounds a racer is in.
func (e *race) roundsOf(r *racer, fastest float64) int {
	if r.first <= slow*fastest || r.first*float64(e.rounds) <= slowTime.Seconds() {
		return e.rounds
	}
	return min(e.rounds, max(fewRounds, int(slowTime.Seconds()/r.first)))
}

// fewer says that a racer was in some of the rounds only, and why; "" where it was in all.
func (e *race) fewer(r *racer) string {
	if !r.races() || r.rounds >= e.rounds {
		return ""
	}
	return fmt.Sprintf("%d rounds in place of %d, as its first run took %s", r.rounds, e.rounds, report.Seconds(r.first))
}

// prepare loads the problem everywhere and runs each way once for its result
// and its first time. Of several ways those near the fastest run again, and the
// fastest then is the one to race.
func (e *race) prepare(ctx context.Context, p *problem, s *stage, note progress.Progress) ([]*racer, error) {
	var all []*racer
	var want *Fingerprint
	for _, c := range e.contenders {
		r := &racer{contender: c, first: math.Inf(1), leastCPU: math.Inf(1)}
		all = append(all, r)
		if _, ok := c.(*peer); ok {
			r.lacks = s.crowded()
		}
		var ways []way
		var err error
		if r.lacks == "" {
			ways, r.lacks, err = c.load(ctx, p, s)
		}
		if err == nil && r.lacks == "" {
			want, err = r.try(ctx, p, ways, want)
		}
		if err != nil {
			if err := r.failed(err); err != nil {
				return all, err
			}
		}
		note.Add(1)
	}
	return all, nil
}

// try runs each way. The first result of all is what others are held against.
func (r *racer) try(ctx context.Context, p *problem, ways []way, want *Fingerprint) (*Fingerprint, error) {
	seconds := make([]float64, len(ways))
	results := make([]*checked, len(ways))
	for i, w := range ways {
		c, err := r.check(ctx, w.Name)
		if err != nil {
			return want, err
		}
		seconds[i], results[i] = c.seconds, c
		if want == nil {
			want = &c.Fingerprint
		}
		if d := c.differs(want, p.inOrder() && w.Ordered); d != "" && r.wrong == "" {
			r.wrong = fmt.Sprintf("way %s: %s", w.Name, d)
		}
	}
	limit := near * slices.Min(seconds)
	for i, w := range ways {
		if len(ways) > 1 {
			if seconds[i] > limit {
				continue
			}
			t, err := r.run(ctx, w.Name, 0, 1)
			if err != nil {
				return want, err
			}
			seconds[i] = t.Seconds[0]
		}
		if seconds[i] < r.first {
			r.way, r.first, r.print, r.growth = w, seconds[i], &results[i].Fingerprint, results[i].growth
		}
	}
	return want, nil
}

// failed notes what a peer failed at, or that its process ended; an error of
// anything else is given back.
func (r *racer) failed(err error) error {
	why, died := lost(err)
	if why == "" {
		return err
	}
	r.lacks, r.died = why, r.died || died
	return nil
}

// lost says what a peer failed at, and whether its process ended by that; "" for
// any other error.
func lost(err error) (why string, died bool) {
	var f *worker.Failure
	if errors.As(err, &f) {
		return "failed: " + f.Text, false
	}
	var d *worker.Died
	if !errors.As(err, &d) {
		return "", false
	}
	why = fmt.Sprintf("its process ended during %s (%s)", d.Do, d.State)
	if d.Text != "" {
		why += ": " + d.Text
	}
	return why, true
}

// unload takes the inputs away from all. Names are those of peers whose processes
// ended by that.
func (e *race) unload(ctx context.Context) (died []string, err error) {
	for _, c := range e.contenders {
		if ctx.Err() != nil {
			break
		}
		cerr := c.unload(ctx)
		if _, gone := lost(cerr); gone {
			died = append(died, c.name())
			continue
		}
		err = errors.Join(err, cerr)
	}
	return died, err
}

// write has the first peer that can write a file.
func (e *race) write(ctx context.Context, do command) (err error) {
	for _, c := range e.contenders {
		p, ok := c.(*peer)
		if !ok {
			continue
		}
		if err = p.revive(ctx); err == nil {
			_, err = p.call(ctx, do)
		}
		if why, _ := lost(err); why == "" {
			return err
		}
	}
	return err
}

// run does the rounds.
func (e *race) run(ctx context.Context, all []*racer, note progress.Progress) error {
	fastest := math.Inf(1)
	for _, r := range all {
		if r.races() {
			fastest = min(fastest, r.first)
		}
	}
	for _, r := range all {
		r.rounds = e.roundsOf(r, fastest)
	}
	e.retaken, e.unsteady = 0, 0
	spent := time.Duration(0) // on rounds that were run again
	before, err := e.gauge.Read(ctx)
	if err != nil {
		return err
	}
	e.best = e.best.Best(before)
	for round := 0; round < e.rounds; {
		turns, begin := make([]taken, len(all)), time.Now()
		for i := range all {
			k := (i + round) % len(all)
			r := all[k]
			if !r.races() || round >= r.rounds {
				continue
			}
			take := e.turn
			if k == 0 {
				take = e.turnBeside
			}
			if turns[k], err = take(ctx, r); err != nil {
				return err
			}
		}
		after, err := e.gauge.Read(ctx)
		if err != nil {
			return err
		}
		e.best = e.best.Best(after)
		dropped := before.Fell(e.best, fell) || after.Fell(e.best, fell)
		before = after
		if dropped && e.retaken < retakes*e.rounds && spent < retakeTime {
			e.retaken, spent = e.retaken+1, spent+time.Since(begin)
			continue
		}
		if dropped {
			e.unsteady++
		}
		for k, t := range turns {
			all[k].Seconds = append(all[k].Seconds, t.Seconds...)
			if len(t.Seconds) > 0 && t.machine.CopyGBs > 0 {
				all[k].beside = append(all[k].beside, beside{slices.Min(t.Seconds), t.machine})
			}
			all[k].cpu += t.CPU
			all[k].wall += t.Wall
			if n := len(t.Seconds); n > 0 {
				all[k].leastCPU = min(all[k].leastCPU, t.CPU/float64(n))
			}
		}
		round++
		note.Add(1)
	}
	return nil
}

// taken is a turn, and what the machine gave beside it where that was measured.
type taken struct {
	turn
	machine report.Reading
}

// turn is one turn of a racer. What a peer fails at is noted, and it has no times.
func (e *race) turn(ctx context.Context, r *racer) (t taken, err error) {
	if t.turn, err = r.contender.run(ctx, r.way.Name, turnTime, turnMost); err != nil {
		err = r.failed(err)
	}
	return t, err
}

// turnBeside is turn between two readings of what the machine gives.
func (e *race) turnBeside(ctx context.Context, r *racer) (taken, error) {
	before, err := e.gauge.Read(ctx)
	if err != nil {
		return taken{}, err
	}
	t, err := e.turn(ctx, r)
	if err != nil {
		return taken{}, err
	}
	after, err := e.gauge.Read(ctx)
	t.machine = before.Best(after)
	e.best = e.best.Best(t.machine)
	return t, err
}

// share is which share of the bandwidth that limit picks a racer reached with
// bytes in the fastest run of a turn, the median of its turns; 0 where it has none.
func (r *racer) share(bytes int64, limit func(report.Reading) float64) float64 {
	var all []float64
	for _, b := range r.beside {
		all = append(all, float64(bytes)/b.seconds/1e9/limit(b.machine))
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return (all[(len(all)-1)/2] + all[len(all)/2]) / 2
}
