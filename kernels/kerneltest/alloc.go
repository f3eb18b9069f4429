package kerneltest

import (
	"errors"
	"sync"
	"sync/atomic"

	"github.com/volley-go/volley/internal/guard"
	"github.com/volley-go/volley/memory"
)

// tally wraps an allocator: it counts what is live, fills blocks that the host
// can address with garbage when they are given out and when they come back, and
// fails on demand.
type tally struct {
	memory.Allocator
	live   atomic.Int64 // blocks given out and not yet back
	calls  atomic.Int64 // allocations so far
	failAt atomic.Int64 // the call that fails, counting from 1; 0 for none
	mu     sync.Mutex
	peak   int64
	bytes  int64
}

// Allocate gives out a block full of garbage, or fails if its turn has come.
func (a *tally) Allocate(size int64) (memory.Block, error) {
	if n := a.calls.Add(1); n == a.failAt.Load() {
		return memory.Block{}, &memory.OutOfMemory{Place: a.Place(), Requested: size, InUse: -1, Limit: -1}
	}
	b, err := a.Allocator.Allocate(size)
	if err != nil {
		return b, err
	}
	guard.Fill(b.Bytes, 0xA5)
	a.live.Add(1)
	a.mu.Lock()
	a.bytes += size
	a.peak = max(a.peak, a.bytes)
	a.mu.Unlock()
	return b, nil
}

// Free takes a block back and fills it with other garbage.
func (a *tally) Free(b memory.Block) {
	guard.Fill(b.Bytes, 0xDD)
	a.live.Add(-1)
	a.mu.Lock()
	a.bytes -= b.Size
	a.mu.Unlock()
	a.Allocator.Free(b)
}

// settle tells what went wrong behind blocks of a device that were freed.
func (a *tally) settle() error {
	if f, fenced := a.Allocator.(*fenced); fenced {
		return f.settle()
	}
	return nil
}

// close tells what went wrong round the blocks of guarded memory.
func (a *tally) close() error {
	switch m := a.Allocator.(type) {
	case *guard.Allocator:
		return m.Close()
	case *fenced:
		return errors.Join(m.settle(), m.stream.Close())
	}
	return nil
}
