package collective

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
)

// Options are what to time and against whom.
type Options struct {
	Self    []string // the program and arguments that become [Rank] with one argument more
	Peers   []string // names as [Peers] lists them
	Places  Places
	Devices []string // our transports, as [Devices] lists them
	Ops     []string // as [Operations] lists them
	Sizes   []int64  // bytes, as nccl-tests count them
	Ranks   []int    // numbers of ranks
	Rounds  int
	Limit   report.Bandwidth
}

const (
	// batchTime is how long the operation is repeated between two looks at the clock,
	// batchMost how often, batches how many of them make a turn. Ranks have waited for
	// their command before a batch: in a millisecond processors that wake and runtimes
	// that find out that there is work again would be most of what is measured.
	batchTime = 5 * time.Millisecond
	batchMost = 20000
	batches   = 10
	// An engine that needs longer than slow for a turn's batches has one a turn.
	slow = 50 * time.Millisecond
	// calibrations are the batches of one length that are timed to find a better one.
	calibrations = 3
)

// Run times the operations. Each engine's times are a record; nccl-tests' table and
// the ratios are answers at the end. It stops within 100 ms of the end of ctx, but for
// an operation in a peer; the ranks end with it.
func Run(ctx context.Context, o Options, to report.Sink, p progress.Progress) (err error) {
	dir, err := os.MkdirTemp("", "volley-ranks-")
	if err != nil {
		return fmt.Errorf("collective: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var ops []*operation
	for _, name := range o.Ops {
		op, err := operationNamed(name)
		if err != nil {
			return err
		}
		ops = append(ops, op)
	}
	all, err := engines(ctx, &o, dir)
	if err != nil {
		return err
	}
	s := &summary{o: &o}
	for _, n := range o.Ranks {
		if err := withRanks(ctx, &o, all, ops, n, dir, s, to, p); err != nil {
			return err
		}
	}
	for _, a := range s.answers() {
		if err := to.Answer(a); err != nil {
			return err
		}
	}
	return nil
}

// withRanks is all that is timed with one number of ranks.
func withRanks(ctx context.Context, o *Options, all []*engine, ops []*operation, n int, dir string, s *summary, to report.Sink, p progress.Progress) (err error) {
	p.Start(fmt.Sprintf("start worlds of %d", n), int64(len(all)))
	var worlds []*world
	defer func() {
		for _, w := range worlds {
			cerr := w.close()
			if err == nil {
				err = cerr
			}
		}
		p.Done()
	}()
	for _, e := range all {
		w, err := start(ctx, e, n, dir)
		if err != nil {
			return err
		}
		worlds = append(worlds, w)
		p.Add(1)
	}
	for _, op := range ops {
		p.Start(fmt.Sprintf("%s, %d ranks", op.name, n), int64(len(o.Sizes)))
		var counts []int64
		for _, size := range o.Sizes {
			count := op.count(size, n)
			if slices.Contains(counts, count) {
				continue // two sizes that blocks of whole elements make the same
			}
			counts = append(counts, count)
			for _, inPlace := range []bool{false, true} {
				if inPlace && !op.in || !inPlace && !op.out {
					continue
				}
				t := &trial{op: op, count: count, inPlace: inPlace, rounds: o.Rounds}
				if err := t.run(ctx, worlds); err != nil {
					return err
				}
				if err := s.add(t, n, to); err != nil {
					return err
				}
			}
			p.Add(1)
		}
	}
	return nil
}

// trial is one operation at one size.
type trial struct {
	op      *operation
	count   int64
	inPlace bool
	rounds  int
	all     []*racer
}

// racer is a world in a trial.
type racer struct {
	*world
	lacks string // why it has no time
	wrong int64  // elements
	times int    // operations of a batch
	turn  int    // batches of a turn
	report.Timing
}

func (t *trial) command(do string, times int) command {
	return command{do: do, op: t.op, inPlace: t.inPlace, count: t.count, times: times}
}

func (t *trial) run(ctx context.Context, worlds []*world) error {
	for _, w := range worlds {
		r := &racer{world: w}
		t.all = append(t.all, r)
		err := t.check(ctx, r)
		if errors.Is(err, errLacks) {
			r.lacks = err.Error()
			continue
		}
		if err != nil {
			return err
		}
		if err := t.calibrate(ctx, r); err != nil {
			return err
		}
	}
	for round := range t.rounds {
		for i := range t.all {
			r := t.all[(i+round)%len(t.all)]
			if r.lacks != "" {
				continue
			}
			for range r.turn {
				seconds, err := t.time(ctx, r, r.times)
				if err != nil {
					return err
				}
				r.Seconds = append(r.Seconds, seconds)
			}
		}
	}
	for _, r := range t.all {
		if r.lacks == "" {
			if err := t.check(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// check counts the wrong elements of one operation.
func (t *trial) check(ctx context.Context, r *racer) error {
	all, err := r.call(ctx, t.command("check", 0))
	for _, n := range all {
		r.wrong += int64(n)
	}
	return err
}

// time is the slowest rank's seconds for one of so many operations.
func (t *trial) time(ctx context.Context, r *racer, times int) (float64, error) {
	all, err := r.call(ctx, t.command("time", times))
	if err != nil {
		return 0, err
	}
	return slices.Max(all) / float64(times), nil
}

// calibrate finds how many operations make a batch. It goes by the shortest of some
// times: after one that somebody else's work made long, batches would be of so few
// operations that their beginnings are what is measured.
func (t *trial) calibrate(ctx context.Context, r *racer) error {
	r.times, r.turn = 1, batches
	for {
		seconds := math.Inf(1)
		for range calibrations {
			s, err := t.time(ctx, r, r.times)
			if err != nil {
				return err
			}
			if seconds = min(seconds, s); s > slow.Seconds() {
				break
			}
		}
		fit := min(batchMost, max(1, int(batchTime.Seconds()/seconds)))
		if seconds > slow.Seconds() {
			r.turn = 1
		}
		if fit <= 4*r.times {
			r.times = fit
			return nil
		}
		r.times *= 4
	}
}
