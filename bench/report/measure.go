package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Timing is the time of every run of a function, in seconds, in the order in
// which they ran. The warm-up is kept apart and counts in neither Median nor
// Min.
type Timing struct {
	WarmUp  float64   // seconds of the warm-up run
	Seconds []float64 // seconds of each timed run
}

// Median returns the middle time; the mean of the two middle ones when the
// number of runs is even; 0 without runs.
func (t Timing) Median() float64 {
	n := len(t.Seconds)
	if n == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(t.Seconds))
	if n%2 == 1 {
		return s[n/2]
	}
	return (s[n/2-1] + s[n/2]) / 2
}

// Min returns the shortest time, 0 without runs.
func (t Timing) Min() float64 {
	if len(t.Seconds) == 0 {
		return 0
	}
	return slices.Min(t.Seconds)
}

// Measure runs fn once to warm up and then runs times, and returns the times
// by the monotonic clock. It stops at the first error of fn and returns it as
// it is. When ctx ends it starts no further run and returns an error that is
// both ctx.Err() and the cause of ctx; a run in progress is fn's to stop. With an error the Timing holds the runs
// that were finished. Fewer than one run is an error.
func Measure(ctx context.Context, runs int, fn func(context.Context) error) (Timing, error) {
	var t Timing
	if runs < 1 {
		return t, fmt.Errorf("report: %d runs asked for, at least 1 is needed", runs)
	}
	for i := -1; i < runs; i++ {
		if ctx.Err() != nil {
			return t, ended(ctx)
		}
		start := time.Now()
		err := fn(ctx)
		s := time.Since(start).Seconds()
		if err != nil {
			return t, err
		}
		if i < 0 {
			t.WarmUp = s
		} else {
			t.Seconds = append(t.Seconds, s)
		}
	}
	return t, nil
}

// ended returns the error of a context that is done: the cause, which need not
// be context.Canceled itself (a signal's is not), and context.Canceled or
// context.DeadlineExceeded, for errors.Is.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}
