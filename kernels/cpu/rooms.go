package cpu

import (
	"sync"

	"github.com/volley-go/volley/memory"
)

// private is memory of the heap of which each worker has its own, zero at first.
type private[T any] struct {
	mu  sync.Mutex
	all map[int]*T
}

func (p *private[T]) of(worker int) *T {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[int]*T{}
	}
	if p.all[worker] == nil {
		p.all[worker] = new(T)
	}
	return p.all[worker]
}

// rooms are scratch buffers of one size, one for each worker that asks.
type rooms struct {
	alloc memory.Allocator
	size  int64
	mu    sync.Mutex
	of    map[int]*memory.Buffer
}

func newRooms(a memory.Allocator, size int64) *rooms {
	return &rooms{alloc: a, size: size, of: map[int]*memory.Buffer{}}
}

// get is the worker's buffer, undefined at first.
func (r *rooms) get(worker int) (*memory.Buffer, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if b := r.of[worker]; b != nil {
		return b, nil
	}
	b, err := memory.New(r.alloc, r.size)
	if err == nil {
		r.of[worker] = b
	}
	return b, err
}

// release gives all buffers back.
func (r *rooms) release() {
	for _, b := range r.of {
		b.Release()
	}
}
