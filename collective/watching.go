package collective

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/internal/release"
)

// watching ends the operation that runs when its context ends. Calls in a row mostly
// have the same context, and asking a context for a call back costs more than a short
// operation; so what was asked for stays until another context comes.
type watching struct {
	running atomic.Uint32   // 1 while an operation runs under the context
	latest  <-chan struct{} // done, as the operations know it

	mu   sync.Mutex
	done <-chan struct{} // the context's
	stop func() bool
}

// begin is called before an operation looks whether its context has ended.
func (w *watching) begin(c *Comm, ctx context.Context) {
	release.Store32(&w.running, 1)
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
		if w.running.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		if w.running.Load() != 0 && w.current(done) {
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
func (w *watching) pause() { release.Store32(&w.running, 0) }

// end lets the context go.
func (w *watching) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		w.stop()
	}
	w.done, w.stop = nil, nil
}
