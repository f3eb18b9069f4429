package cpu

import (
	"context"
	"sync"

	"github.com/volley-go/volley/device"
)

// chain hands a running state from each morsel of a loop to the next, so that
// what needs all rows before its own is one pass over memory: a morsel takes in
// its rows, waits for the state before them, gives on that behind them, and goes
// over its rows, which are in the cache, once more. Morsels are begun in order,
// so that the one waited for is always under way.
type chain[T any] struct {
	states []chan T
	broken chan struct{}
	once   sync.Once
}

func newChain[T any](morsels int, first T) *chain[T] {
	c := &chain[T]{states: make([]chan T, morsels+1), broken: make(chan struct{})}
	for i := range c.states {
		c.states[i] = make(chan T, 1)
	}
	c.states[0] <- first
	return c
}

// link gives on the state behind morsel i, made from that before it, which it
// returns. With an error no later morsel gets one.
func (c *chain[T]) link(ctx context.Context, i int, behind func(before T) T) (before T, err error) {
	select {
	case before = <-c.states[i]:
		c.states[i+1] <- behind(before)
		return before, nil
	case <-c.broken:
		return before, device.Errorf(nil, "cpu", "", "a morsel before failed")
	case <-ctx.Done():
		return before, device.Canceled(ctx, "cpu", "")
	}
}

// guard is deferred by a morsel: it lets those behind it go when it ended
// without giving on a state.
func (c *chain[T]) guard(linked *bool) {
	if !*linked {
		c.once.Do(func() { close(c.broken) })
	}
}
