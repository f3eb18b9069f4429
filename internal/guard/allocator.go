package guard

import (
	"errors"
	"fmt"
	"sync"

	"github.com/volley-go/volley/memory"
)

// Allocator is a memory.Allocator of guarded host memory. Its methods may be
// called from any goroutine.
type Allocator struct {
	get func(size int64) (memory.Block, func() error, error)

	mu     sync.Mutex
	blocks map[uintptr]live
	faults []error
	closed bool
	finish func() error
}

var _ memory.Allocator = (*Allocator)(nil)

func newAllocator(get func(int64) (memory.Block, func() error, error), finish func() error) *Allocator {
	return &Allocator{get: get, finish: finish, blocks: make(map[uintptr]live)}
}

// New gives memory whose blocks lie against unmapped memory at one end. On
// systems without it, it is Checked over memory.Heap.
func New(mode Mode) *Allocator { return newPages(mode) }

// zone is how many poisoned bytes lie on either side of a checked block.
const zone = 256

// Checked gives memory of another host allocator with poison on both sides of
// every block: bytes beyond Padded(Size), and bytes ahead of the first, must be
// untouched when the block is freed.
func Checked(inner memory.Allocator) *Allocator {
	return newAllocator(func(size int64) (memory.Block, func() error, error) {
		padded := memory.Padded(size)
		whole, err := inner.Allocate(padded + 2*zone)
		if err != nil {
			return memory.Block{}, nil, err
		}
		if len(whole.Bytes) == 0 {
			inner.Free(whole)
			return memory.Block{}, nil, fmt.Errorf("%w: the host cannot poison memory of %s", memory.ErrUnsupported, inner.Place())
		}
		poison(whole.Bytes)
		b := memory.Block{Bytes: whole.Bytes[zone : zone+size : zone+padded], Size: size}
		return b, func() error {
			err := around(whole.Bytes[:zone], whole.Bytes[zone+padded:])
			poison(whole.Bytes)
			inner.Free(whole)
			return err
		}, nil
	}, func() error { return nil })
}

// Place is memory.Host.
func (a *Allocator) Place() memory.Place { return memory.Host }

// Allocate gives a block filled with Poison.
func (a *Allocator) Allocate(size int64) (memory.Block, error) {
	if size < 0 {
		return memory.Block{}, fmt.Errorf("%w: a block of %d bytes", memory.ErrMismatch, size)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return memory.Block{}, fmt.Errorf("%w: guarded memory", memory.ErrClosed)
	}
	b, end, err := a.get(size)
	if err != nil {
		return memory.Block{}, err
	}
	a.blocks[key(b)] = newLive(size, end)
	return b, nil
}

// Free checks what lies round the block and takes it back. What is wrong,
// a block that is not out among it, is kept for Close to tell.
func (a *Allocator) Free(b memory.Block) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l, ok := a.blocks[key(b)]
	if !ok {
		a.faults = append(a.faults, fmt.Errorf("a block of %d bytes was freed that is not out%s", b.Size, newLive(0, nil).where()))
		return
	}
	delete(a.blocks, key(b))
	if err := l.end(); err != nil {
		a.faults = append(a.faults, fmt.Errorf("round a block of %d bytes: %w; allocated by%s", l.size, err, l.where()))
	}
}

// Live is the number of blocks that are out.
func (a *Allocator) Live() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.blocks)
}

// Close tells everything that went wrong: overwritten poison, blocks freed
// twice, and blocks never freed, which it checks too and takes back. Each
// names who allocated it. Closing twice is allowed.
func (a *Allocator) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil
	}
	a.closed = true
	for _, l := range a.blocks {
		a.faults = append(a.faults, fmt.Errorf("leak: a block of %d bytes allocated by%s", l.size, l.where()))
		if err := l.end(); err != nil {
			a.faults = append(a.faults, fmt.Errorf("round it: %w", err))
		}
	}
	a.blocks = nil
	return errors.Join(append(a.faults, a.finish())...)
}
