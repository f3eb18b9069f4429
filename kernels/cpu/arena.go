package cpu

import (
	"sync"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// arena holds the buffers of one kernel call, scratch and results alike, so
// that an error at any point gives all of them back: `defer a.free()`. Results
// leave it by keep. Its methods may be called from several workers.
type arena struct {
	alloc memory.Allocator
	mu    sync.Mutex
	held  map[*memory.Buffer]int // references: two columns may share a bitmap
	cols  []*memory.Column
}

func newArena(s device.Stream) *arena {
	return &arena{alloc: s.Device().Memory(), held: map[*memory.Buffer]int{}}
}

// scratch is another arena of the same memory, to be freed earlier.
func (a *arena) scratch() *arena {
	return &arena{alloc: a.alloc, held: map[*memory.Buffer]int{}}
}

// free releases all that is still held.
func (a *arena) free() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for b, n := range a.held {
		for range n {
			b.Release()
		}
	}
	clear(a.held)
	for _, c := range a.cols {
		c.Release()
	}
	a.cols = nil
}

// drop releases a buffer early; nil is allowed.
func (a *arena) drop(b *memory.Buffer) {
	if b != nil {
		a.keep(b)
		b.Release()
	}
}

// keep takes a buffer out of the arena: it belongs to the caller now.
func (a *arena) keep(b *memory.Buffer) *memory.Buffer {
	a.mu.Lock()
	if a.held[b]--; a.held[b] <= 0 {
		delete(a.held, b)
	}
	a.mu.Unlock()
	return b
}

// hold makes the arena the owner of a buffer; nil is allowed.
func (a *arena) hold(b *memory.Buffer) *memory.Buffer {
	if b != nil {
		a.mu.Lock()
		a.held[b]++
		a.mu.Unlock()
	}
	return b
}

// holdColumn makes the arena the owner of a reference to a column.
func (a *arena) holdColumn(c *memory.Column) {
	a.mu.Lock()
	a.cols = append(a.cols, c)
	a.mu.Unlock()
}

// vec is a slice in a buffer of an arena.
type vec[T any] struct {
	s []T
	b *memory.Buffer
}

// newVec is n values of undefined contents.
func newVec[T any](a *arena, n int) (vec[T], error) {
	var t T
	b, err := memory.New(a.alloc, int64(n)*int64(unsafe.Sizeof(t)))
	if err != nil {
		return vec[T]{}, err
	}
	return vec[T]{memory.View[T](a.hold(b)), b}, nil
}

// zeroVec is n zero values.
func zeroVec[T any](a *arena, n int) (vec[T], error) {
	v, err := newVec[T](a, n)
	if err == nil {
		clear(v.b.Bytes()[:cap(v.b.Bytes())])
	}
	return v, err
}

// resize makes v n zero values, in the same memory where there is room.
func (v *vec[T]) resize(a *arena, n int) error {
	if n <= cap(v.s) && v.b != nil {
		v.s = v.s[:n]
		clear(v.s)
		return nil
	}
	a.drop(v.b)
	*v = vec[T]{}
	next, err := zeroVec[T](a, n)
	*v = next
	return err
}

// grow makes room for n values and keeps those there are.
func (v *vec[T]) grow(a *arena, n int) error {
	next, err := newVec[T](a, n)
	if err != nil {
		return err
	}
	copy(next.s, v.s)
	a.drop(v.b)
	*v = next
	return nil
}

// stash lends values, one at a time, to workers that come and go; which of
// them a worker gets, and what others did with it before, is left to chance.
type stash[T any] struct {
	mu   sync.Mutex
	make func() (T, error)
	idle []T
	all  []T
}

func (s *stash[T]) get() (T, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := len(s.idle); k > 0 {
		v := s.idle[k-1]
		s.idle = s.idle[:k-1]
		return v, nil
	}
	v, err := s.make()
	if err == nil {
		s.all = append(s.all, v)
	}
	return v, err
}

func (s *stash[T]) put(v T) {
	s.mu.Lock()
	s.idle = append(s.idle, v)
	s.mu.Unlock()
}

// perWorker keeps one value for each worker of a loop.
type perWorker[T any] struct {
	mu   sync.Mutex
	make func() (T, error)
	all  map[int]T
}

func (p *perWorker[T]) of(worker int) (T, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if v, have := p.all[worker]; have {
		return v, nil
	}
	v, err := p.make()
	if err == nil {
		if p.all == nil {
			p.all = map[int]T{}
		}
		p.all[worker] = v
	}
	return v, err
}
