package cpu

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/device"
)

// chained is a loop over parts of rows of which each needs a running state of all
// rows before it, in one pass over memory: first is the state before part 0, total
// what a part comes to, behind the state behind a part of such a total. along goes
// over part i once more, which the cache still holds, from the state before it on,
// and gives the total of part next, which the worker takes after that; next is -1
// where there is none. Parts are taken in order, so that the one waited for is
// always under way.
func chained[S, T any](ctx context.Context, parts int, first S, total func(i int) T, behind func(i int, before S, total T) S,
	along func(i, next int, before S, total T) T) error {
	states, q := newChain(first), &queue{}
	take := func() int {
		if i := q.take(0, parts); i < parts {
			return i
		}
		return -1
	}
	return tasks(ctx, min(workers(), parts), func(int, int) error {
		i := take()
		defer func() { states.guard(i) }()
		if i < 0 {
			return nil
		}
		sum := total(i)
		for i >= 0 {
			before, err := states.link(ctx, i, func(before S) S { return behind(i, before, sum) })
			if err != nil {
				return err
			}
			linked, of := i, sum
			i = take()
			sum = along(linked, i, before, of)
		}
		return nil
	})
}

// chain hands a running state from each part of a loop to the next: whoever has
// part given may read and write it.
type chain[T any] struct {
	state  T
	given  atomic.Int64 // parts that gave theirs on
	broken atomic.Bool
	asleep atomic.Int64 // parts that wait for wake
	mutex  sync.Mutex   // of wake: what is waited for changes without it
	wake   sync.Cond
}

// chainLooks is how often a part looks for the state before it, about as long as a
// part takes, before it gives its processor up: the part before is mostly just
// about to give it, and to be woken costs twice as long.
const chainLooks = 1 << 15

func newChain[T any](first T) *chain[T] {
	c := &chain[T]{state: first}
	c.wake.L = &c.mutex
	return c
}

// link gives on the state behind part i, made from that before it, which it
// returns. With an error no later part gets one.
func (c *chain[T]) link(ctx context.Context, i int, behind func(before T) T) (before T, err error) {
	if err = device.Canceled(ctx, "cpu", ""); err != nil {
		return before, err
	}
	here := func() bool { return c.given.Load() == int64(i) }
	for looks := 0; looks < chainLooks && !here(); looks++ {
	}
	if !here() {
		c.sleep(ctx, here)
	}
	switch {
	case here():
		before = c.state
		c.state = behind(before)
		c.given.Store(int64(i + 1))
		c.awake()
		return before, nil
	case c.broken.Load():
		return before, device.Errorf(nil, "cpu", "", "a part before failed")
	default:
		return before, device.Canceled(ctx, "cpu", "")
	}
}

// sleep waits until here is true, the chain broken or ctx done.
func (c *chain[T]) sleep(ctx context.Context, here func() bool) {
	c.asleep.Add(1)
	defer c.asleep.Add(-1)
	stop := context.AfterFunc(ctx, c.awake)
	defer stop()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for !here() && !c.broken.Load() && ctx.Err() == nil {
		c.wake.Wait()
	}
}

// awake has those that sleep look again. Who goes to sleep is counted before it
// looks, and who changes what is waited for looks at the count after that.
func (c *chain[T]) awake() {
	if c.asleep.Load() > 0 {
		c.mutex.Lock()
		defer c.mutex.Unlock()
		c.wake.Broadcast()
	}
}

// guard lets those behind a part go, which was taken and gives on no state any
// more, if there is one.
func (c *chain[T]) guard(part int) {
	if part >= 0 {
		c.broken.Store(true)
		c.awake()
	}
}
