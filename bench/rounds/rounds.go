// Package rounds has engines race in turns, and runs rounds again beside which the machine gave less than it can.
package rounds

import (
	"context"

	"github.com/volley-go/volley/bench/report"
	"github.com/volley-go/volley/bench/worker"
)

const (
	// fell is the share of the best reading of the machine below which a round is run again, at most retakes times for each round; what falls later counts, and
	// is marked.
	fell    = 0.75
	retakes = 2
)

// Gauge tells what the machine gives right now.
type Gauge interface {
	// Read measures it.
	Read(ctx context.Context) (report.Reading, error)
}

// Race is several races on one machine.
type Race struct {
	Gauge Gauge
	Add   func(n int64) // told of each round

	best report.Reading // of all readings so far
}

// Racer is an engine in one race.
type Racer[T any] struct {
	Lacks string // why it does not race, or does not any more
	Turn  func(ctx context.Context) (T, error)
	Keep  func(T) // takes a turn of a round that counts
}

// Taken is how many rounds the machine gave less beside.
type Taken struct {
	Retaken  int `json:"rounds_retaken"`  // and they were run again
	Unsteady int `json:"rounds_unsteady"` // and they count all the same
}

// Run lets all take turns for so many rounds, in an order that moves on by one each round. A peer that fails, or whose process ends, lacks
// from there on.
func Run[T any](ctx context.Context, r *Race, rounds int, all []*Racer[T]) (taken Taken, err error) {
	before, err := r.Gauge.Read(ctx)
	if err != nil {
		return taken, err
	}
	r.best = r.best.Best(before)
	for round := 0; round < rounds; {
		turns, err := once(ctx, all, round)
		if err != nil {
			return taken, err
		}
		after, err := r.Gauge.Read(ctx)
		if err != nil {
			return taken, err
		}
		r.best = r.best.Best(after)
		dropped := before.Fell(r.best, fell) || after.Fell(r.best, fell)
		before = after
		if dropped && taken.Retaken < retakes*rounds {
			taken.Retaken++
			continue
		}
		if dropped {
			taken.Unsteady++
		}
		for k, t := range turns {
			if all[k].Lacks == "" {
				all[k].Keep(t)
			}
		}
		round++
		r.Add(1)
	}
	return taken, nil
}

// once is one round.
func once[T any](ctx context.Context, all []*Racer[T], round int) ([]T, error) {
	turns := make([]T, len(all))
	for i := range all {
		k := (i + round) % len(all)
		if all[k].Lacks != "" {
			continue
		}
		var err error
		if turns[k], err = all[k].Turn(ctx); err == nil {
			continue
		}
		if all[k].Lacks, err = worker.Lacks(err); err != nil {
			return nil, err
		}
	}
	return turns, nil
}
