package cpu

import (
	"context"
	"sync"
	"sync/atomic"

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
	given  atomic.Int64 // how many states are
}

// chainLooks is how often a morsel looks for the state before it, a few
// microseconds, before it gives its processor up: the morsel before is mostly just
// about to give it, and to be woken costs as long.
const chainLooks = 1 << 12

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
	for looks := 0; looks < chainLooks && c.given.Load() < int64(i); looks++ {
	}
	select {
	case before = <-c.states[i]:
		c.states[i+1] <- behind(before)
		c.given.Store(int64(i + 1))
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
