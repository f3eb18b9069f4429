package collective

import (
	"context"
	"sync"
	"sync/atomic"
)

// watching ends the operation that runs when its context ends. Calls in a row mostly
// have the same context, and asking a context for a call back costs more than a short
// operation; so what was asked for stays until another context comes.
type watching struct {
	running atomic.Bool // an operation runs under the context

	mu   sync.Mutex
	done <-chan struct{} // the context's
	stop func() bool
}

// begin is called before an operation looks whether its context has ended: whichever
// of the two is later then sees the other.
func (w *watching) begin(c *Comm, ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running.Store(true)
	done := ctx.Done()
	if done == w.done {
		return
	}
	if w.stop != nil {
		w.stop()
	}
	w.done = done
	w.stop = context.AfterFunc(ctx, func() {
		if w.running.Load() && w.current(done) {
			c.cancel(ctx)
		}
	})
}

// current says whether the context of this channel is still the one that is watched.
func (w *watching) current(done <-chan struct{}) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done == done
}

// pause is called after an operation.
func (w *watching) pause() { w.running.Store(false) }

// end lets the context go.
func (w *watching) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		w.stop()
	}
	w.done, w.stop = nil, nil
}
