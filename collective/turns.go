package collective

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/volley-go/volley/internal/release"
)

// turns lets operations run one after another in the order in which they were
// called. Where nobody waits, which is the common case, a turn costs one atomic
// addition.
type turns struct {
	tickets atomic.Uint64
	serving atomic.Uint64
	queued  atomic.Int64 // operations in waiting

	mu      sync.Mutex
	waiting map[uint64]chan struct{}
}

func (t *turns) init() { t.waiting = map[uint64]chan struct{}{} }

// grab takes the turn if nobody has it or waits for it.
func (t *turns) grab() bool {
	now := t.serving.Load()
	return t.tickets.Load() == now && t.tickets.CompareAndSwap(now, now+1)
}

// take is a place in the queue.
func (t *turns) take() uint64 { return t.takeAll(1) }

// takeAll is the first of n places one after another.
func (t *turns) takeAll(n int) uint64 { return t.tickets.Add(uint64(n)) - uint64(n) }

// mine says that it is the ticket's turn already.
func (t *turns) mine(ticket uint64) bool { return t.serving.Load() == ticket }

// wait returns when it is the ticket's turn. When ctx ends first it calls canceled,
// which ends the operation that has the turn, and still waits for the turn: done
// must be called in any case.
func (t *turns) wait(ctx context.Context, ticket uint64, canceled func()) {
	t.mu.Lock()
	t.queued.Add(1)
	if t.mine(ticket) {
		t.queued.Add(-1)
		t.mu.Unlock()
		return
	}
	come := make(chan struct{})
	t.waiting[ticket] = come
	t.mu.Unlock()
	// The turn may have come just before this wait was there to be seen, in a store that
	// this processor did not see yet: so it is looked at again.
	after := time.Millisecond
	again := time.NewTimer(after)
	defer again.Stop()
	ended := ctx.Done()
	for {
		select {
		case <-come:
			return
		case <-ended:
			canceled()
			ended = nil
		case <-again.C:
			if t.mine(ticket) {
				t.leave(ticket)
				return
			}
			after *= 2
			again.Reset(after)
		}
	}
}

// leave ends a wait that nobody has to end any more.
func (t *turns) leave(ticket uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting[ticket] != nil {
		delete(t.waiting, ticket)
		t.queued.Add(-1)
	}
}

// done gives the turn to the next.
func (t *turns) done() {
	next := t.serving.Load() + 1 // only who has the turn writes it
	release.Store64(&t.serving, next)
	if t.queued.Load() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if come := t.waiting[next]; come != nil {
		delete(t.waiting, next)
		t.queued.Add(-1)
		close(come)
	}
}
