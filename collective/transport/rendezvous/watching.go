package rendezvous

import (
	"context"
	"slices"
)

type watchingKey struct{}

// Watching gives a context whose meetings tell f, time and again while they wait, which ranks are not
// known to have come: to rank 0 and in a file that is all, at rank 0's port what it said last, and before it
// answered rank 0 alone. A meeting through a PMIx server tells nothing. f gets a slice of its own, and may be
// called from other goroutines than the meeting's, also for a moment after it.
func Watching(ctx context.Context, f func(missing []int)) context.Context {
	return context.WithValue(ctx, watchingKey{}, f)
}

// watched tells who watches a meeting, if anybody does.
func watched(ctx context.Context, missing []int) {
	if f, ok := ctx.Value(watchingKey{}).(func([]int)); ok {
		f(slices.Clone(missing))
	}
}
