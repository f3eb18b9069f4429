package collective

import (
	"context"
	"sync"
	"time"
)

// watching ends the operation that runs when its context ends. Calls in a row mostly
// have the same context, and asking a context for a call back costs more than a short
// operation; so what was asked for stays until another context comes.
type watching struct {
	latest <-chan struct{} // done, as the operations know it

	mu   sync.Mutex
	done <-chan struct{} // the context's
	stop func() bool
}

// begin is called before an operation says that it runs, and looks then whether its
// context has ended.
func (w *watching) begin(c *Comm, ctx context.Context) {
	done := ctx.Done()
	if done == w.latest {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest = done
	if w.stop != nil {
		w.stop()
	}
	w.done = done
	w.stop = context.AfterFunc(ctx, func() {
		// An operation that begins just now may not have seen the end of its context, and
		// its store may not be seen here yet: so it is looked at again.
		if !c.now.watched() {
			time.Sleep(time.Millisecond)
		}
		if c.now.watched() && w.current(done) {
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

// end lets the context go.
func (w *watching) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		w.stop()
	}
	w.done, w.stop = nil, nil
}
