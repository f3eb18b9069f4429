package collective

import (
	"context"
	"sync"
)

// turns lets operations run one after another in the order in which they were
// called.
type turns struct {
	mu      sync.Mutex
	tickets uint64
	serving uint64
	waiting map[uint64]chan struct{}
}

func (t *turns) init() { t.waiting = map[uint64]chan struct{}{} }

// take is a place in the queue.
func (t *turns) take() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tickets++
	return t.tickets - 1
}

// mine says that it is the ticket's turn already.
func (t *turns) mine(ticket uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.serving == ticket
}

// wait returns when it is the ticket's turn. When ctx ends first it calls canceled,
// which ends the operation that has the turn, and still waits for the turn: done
// must be called in any case.
func (t *turns) wait(ctx context.Context, ticket uint64, canceled func()) {
	t.mu.Lock()
	if t.serving == ticket {
		t.mu.Unlock()
		return
	}
	come := make(chan struct{})
	t.waiting[ticket] = come
	t.mu.Unlock()
	select {
	case <-come:
	case <-ctx.Done():
		canceled()
		<-come
	}
}

// done gives the turn to the next.
func (t *turns) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.serving++
	if come := t.waiting[t.serving]; come != nil {
		delete(t.waiting, t.serving)
		close(come)
	}
}
