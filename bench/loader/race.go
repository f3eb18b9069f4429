package loader

import (
	"cmp"
	"context"
	"errors"

	"github.com/volley-go/volley/bench/progress"
	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/worker"
)

const (
	// An engine that took more than slow times as long as the fastest in its first
	// round is timed in fewRounds rounds only.
	slow      = 5
	fewRounds = 2
)

// racer is an engine at one operation.
type racer struct {
	*engine
	lacks, wrong string // why it has no time, how its batches are wrong
	report.Timing
	first  []float64
	growth int64
}

// race runs an operation by all engines, and times the limit, if there is one,
// beside each round.
func race(ctx context.Context, o Options, set, op, dir string, workers []*engine, bound *limit, p progress.Progress) (
	all []*racer, of limits, err error,
) {
	p.Start(set+", "+op+", check", int64(len(workers)))
	defer p.Done()
	for _, w := range workers {
		r := &racer{engine: w, lacks: w.why}
		all = append(all, r)
		if r.lacks != "" {
			continue
		}
		a, err := w.call(ctx, command{Do: "load", Folder: dir, Op: op, Batch: o.Batch})
		if r.lacks = a.Lacks; err == nil && r.lacks == "" {
			a, err = w.call(ctx, command{Do: "check"})
			r.wrong = a.Wrong
		}
		if err := r.failed(ctx, err, o.Engines[0]); err != nil {
			return all, of, err
		}
		p.Add(1)
	}
	p.Start(set+", "+op+", rounds", int64(o.Rounds))
	for round := range o.Rounds {
		fastest := 0.0
		for _, r := range all {
			if len(r.Seconds) > 0 && (fastest == 0 || r.Seconds[0] < fastest) {
				fastest = r.Seconds[0]
			}
		}
		if bound != nil {
			if err := bound.run(ctx, &of); err != nil {
				return all, of, err
			}
		}
		for i := range all {
			r := all[(i+round)%len(all)]
			if r.lacks != "" || round >= fewRounds && r.Seconds[0] > slow*fastest {
				continue
			}
			if err := r.failed(ctx, r.turn(ctx), o.Engines[0]); err != nil {
				return all, of, err
			}
		}
		p.Add(1)
	}
	for _, r := range all {
		if r.why == "" {
			if _, err := r.call(ctx, command{Do: "unload"}); err != nil {
				if err := r.failed(ctx, err, o.Engines[0]); err != nil {
					return all, of, err
				}
			}
		}
	}
	return all, of, nil
}

// turn times an epoch and then the first batch of a loader made anew.
func (r *racer) turn(ctx context.Context) error {
	a, err := r.call(ctx, command{Do: "epoch"})
	if err != nil {
		return err
	}
	r.Seconds, r.growth = append(r.Seconds, a.Seconds), max(r.growth, a.Growth)
	if a, err = r.call(ctx, command{Do: "first"}); err == nil {
		r.first = append(r.first, a.Seconds)
	}
	return err
}

// failed notes what an engine failed at; the end of ctx, and an end of our
// process, are given back.
func (r *racer) failed(ctx context.Context, err error, ours string) error {
	var f *worker.Failure
	if errors.As(err, &f) {
		r.lacks = "failed: " + f.Do + ": " + f.Text
		return nil
	}
	if err := r.gone(ctx, err, ours); err != nil {
		return err
	}
	r.lacks = cmp.Or(r.lacks, r.why)
	return nil
}

// gone notes that there is no process of an engine any more.
func (w *engine) gone(ctx context.Context, err error, ours string) error {
	if err == nil || ctx.Err() != nil || w.name == ours {
		return err
	}
	w.why = "failed: " + err.Error()
	return nil
}
