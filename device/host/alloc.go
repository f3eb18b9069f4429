package host

import "github.com/volley-go/volley/memory"

// allocator is the device's memory: the inner allocator until the device
// closes, and from then on only a place to free to.
type allocator struct {
	inner  memory.Allocator
	device *Device
}

// newPool is the allocator of a device that was given none.
func newPool() memory.Allocator { return memory.Heap }

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
		a.trim()
	}
}

// trim hands cached blocks back where the inner allocator has such.
func (a *allocator) trim() {
	if cache, ok := a.inner.(interface{ Trim() }); ok {
		cache.Trim()
	}
}
