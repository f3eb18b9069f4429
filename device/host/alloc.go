package host

import (
	"time"

	"github.com/volley-go/volley/memory"
)

// allocator is the device's memory: the inner allocator until the device
// closes, and from then on only a place to free to.
type allocator struct {
	inner  memory.Allocator
	device *Device
}

// newPool is the allocator of a device that was given none: the Go heap behind
// a cache. It keeps up to a quarter of the machine's memory, from 64 MiB to 16 GiB,
// while there is work: room for the columns that a query frees and the next one asks
// for again, whose pages the system would otherwise clear each time. Ten seconds
// after the last request all but an eighth, 4 GiB at most, goes back, so that
// others have the machine. The cache makes a program's peak higher by 16 MiB at most.
func newPool() memory.Allocator {
	total, _ := memory.System()
	pool := memory.NewCaching(memory.Heap, min(max(total/4, 64<<20), 16<<30))
	pool.SetSlack(min(total/64, 16<<20))
	pool.SetIdle(min(max(total/8, 64<<20), 4<<30), poolIdle)
	return pool
}

const poolIdle = 10 * time.Second

// Memory allocates host memory for the device's buffers. Once the device is
// closed, Allocate returns ErrClosed; freeing goes on working.
func (d *Device) Memory() memory.Allocator { return &d.memory }

// Pinned is Memory: the host's own copies need no pinning.
func (d *Device) Pinned() memory.Allocator { return &d.memory }

func (a *allocator) Place() memory.Place { return a.inner.Place() }

func (a *allocator) Allocate(size int64) (memory.Block, error) {
	if err := a.device.alive("allocate"); err != nil {
		return memory.Block{}, err
	}
	return a.inner.Allocate(size)
}

func (a *allocator) Free(b memory.Block) {
	a.inner.Free(b)
	if a.device.closed.Load() {
		a.Trim()
	}
}

// Trim hands blocks that are kept for reuse back where the inner allocator has
// such, and gives their bytes.
func (a *allocator) Trim() int64 {
	if cache, ok := a.inner.(interface{ Trim() int64 }); ok {
		return cache.Trim()
	}
	return 0
}
