package cuda

import (
	"math"
	"time"

	"github.com/volley-go/volley/memory"
)

// openMemory makes the device's allocators. The driver's memory pool comes
// first: it keeps freed memory itself and puts pieces of it together. A driver
// without one has its blocks kept by a memory.Caching. Either keeps up to half
// of the device's memory, so that another program gets some too.
func (d *Device) openMemory() error {
	d.blocks.device = d
	keep := d.limits.total / 2
	var inner memory.Allocator = &d.blocks
	if d.limits.pools && d.lib.driver.poolCreate != nil {
		if err := d.check("open a memory pool", d.enter(func() code { return d.blocks.open(keep) })); err != nil {
			return err
		}
		d.keepers = append(d.keepers, &d.blocks)
		d.kept = func() (int64, code) { return d.lib.driver.poolKept(d.blocks.pool) }
	} else {
		cache := memory.NewCaching(inner, keep)
		d.keepers = append(d.keepers, cache)
		d.kept = func() (int64, code) { return cache.Stats().Kept, success }
		inner = cache
	}
	if d.options.limit >= 0 {
		inner = memory.NewLimited(inner, d.options.limit)
	}
	d.memory = &allocator{d, inner}
	total, _ := memory.System()
	cache := memory.NewCaching(&pinnedMemory{d}, min(max(total/8, 64<<20), 4<<30))
	d.keepers = append(d.keepers, cache)
	d.pinned = &allocator{d, cache}
	return nil
}

// Memory allocates on the GPU. A request that cannot be met waits until the GPU
// is done with what was released before it fails; then the error is an
// ErrOutOfMemory that says what was asked for and what there was. Once the
// device is closed, Allocate returns ErrClosed; freeing goes on working.
func (d *Device) Memory() memory.Allocator { return d.memory }

// Pinned allocates host memory that the GPU reads and writes itself. It is that
// of every GPU of the process. Freed blocks are kept up to an eighth of the
// machine's memory and 4 GiB: pinning takes longer than most copies.
func (d *Device) Pinned() memory.Allocator { return d.pinned }

// allocator is memory of the device until the device closes, and from then on
// only a place to free to.
type allocator struct {
	device *Device
	inner  memory.Allocator
}

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
		a.device.trim()
	}
}

// Trim hands memory that is kept for reuse back and gives the bytes of blocks
// among it, where they are known.
func (a *allocator) Trim() int64 {
	if k, ok := a.inner.(keeper); ok {
		return k.Trim()
	}
	return 0
}

// deviceMemory is the driver's own allocation: from a pool in the order of a
// stream that does nothing else, or with cuMemAlloc. A block is freed when
// nothing on the GPU uses it any more, so that any stream may have it next.
type deviceMemory struct {
	device       *Device
	pool, stream handle
}

func (m *deviceMemory) open(keep int64) code {
	drv := m.device.lib.driver
	var c code
	if m.stream, c = drv.streamCreate(streamNonBlocking); c != success {
		return c
	}
	if m.pool, c = drv.poolCreate(m.device.context.dev); c != success {
		_ = drv.streamDestroy(m.stream)
		return c
	}
	if c = drv.poolSetThreshold(m.pool, uint64(keep)); c != success {
		_ = drv.poolDestroy(m.pool)
		_ = drv.streamDestroy(m.stream)
	}
	return c
}

// destroy gives pool and stream back.
func (m *deviceMemory) destroy() {
	if m.pool != 0 {
		_ = m.device.lib.driver.poolDestroy(m.pool)
		_ = m.device.lib.driver.streamDestroy(m.stream)
	}
}

// Place is the GPU's memory.
func (m *deviceMemory) Place() memory.Place { return m.device.Place() }

// longestPause bounds the wait for another goroutine that is giving memory back.
// It may be this very one, further up, whose work is ending: then none comes.
const longestPause = 16 * time.Millisecond

// Allocate asks the driver, and once more after everything that was released
// has come back.
func (m *deviceMemory) Allocate(size int64) (memory.Block, error) {
	const call = "allocate"
	d := m.device
	switch {
	case size < 0:
		return memory.Block{}, d.mismatch(call, "a block of %d bytes", size)
	case size == 0:
		return memory.Block{}, nil
	case size > math.MaxInt64-memory.Alignment || memory.Padded(size) > d.limits.total:
		return memory.Block{}, m.outOfMemory(call, size)
	}
	if !d.acquire() {
		return memory.Block{}, d.closedError(call)
	}
	p, c := m.get(memory.Padded(size))
	for pause := time.Duration(0); c == errorOutOfMemory; pause = max(time.Millisecond, 2*pause) {
		time.Sleep(pause)
		busy := d.drain()
		m.Trim()
		if p, c = m.get(memory.Padded(size)); !busy || pause > longestPause {
			break
		}
	}
	if c == success {
		return memory.Block{Handle: p, Size: size, Tag: d}, nil
	}
	d.release()
	if c == errorOutOfMemory {
		return memory.Block{}, m.outOfMemory(call, size)
	}
	return memory.Block{}, d.check(call, c)
}

func (m *deviceMemory) get(size int64) (p address, c code) {
	drv := m.device.lib.driver
	c = m.device.in(func() (c code) {
		if m.pool == 0 {
			p, c = drv.memAlloc(size)
			return c
		}
		// Another stream may use the memory once the pool's stream has come to
		// it. There is nothing else in that stream: the wait is for the pool.
		if p, c = drv.poolAlloc(size, m.pool, m.stream); c == success {
			c = drv.streamSynchronize(m.stream)
		}
		return c
	})
	return p, c
}

// Free gives a block back. On a lost device the memory is gone already.
func (m *deviceMemory) Free(b memory.Block) {
	d, ok := b.Tag.(*Device)
	if !ok || d != m.device {
		return // of no bytes
	}
	c := d.in(func() code {
		if m.pool == 0 {
			return d.lib.driver.memFree(b.Handle)
		}
		return d.lib.driver.poolFree(b.Handle, m.stream)
	})
	_ = d.check("free", c) // a loss that shows here is kept; there is nobody else to tell
	d.release()
}

// Trim gives what the pool keeps back to the driver. How much that is is not known.
func (m *deviceMemory) Trim() int64 {
	if m.pool == 0 {
		return 0
	}
	c := m.device.in(func() code {
		if c := m.device.lib.driver.streamSynchronize(m.stream); c != success {
			return c
		}
		return m.device.lib.driver.poolTrim(m.pool, 0)
	})
	_ = m.device.check("trim", c) // a loss that shows here is kept
	return 0
}

func (m *deviceMemory) outOfMemory(call string, size int64) error {
	var free, total int64
	c := m.device.in(func() (c code) {
		free, total, c = m.device.lib.driver.memInfo()
		return c
	})
	if err := m.device.check(call, c); err != nil {
		return err
	}
	return m.device.outOfMemory(call, m.Place(), size, free, total)
}

// drain waits until the GPU is done with the work that it was given, so that
// the memory that was released is free. busy says that a goroutine is still giving
// some of it back.
func (d *Device) drain() (busy bool) {
	d.mu.Lock()
	streams := make([]*stream, 0, len(d.streams))
	for s := range d.streams {
		streams = append(streams, s)
	}
	d.mu.Unlock()
	for _, s := range streams {
		busy = s.drain() || busy
	}
	return busy
}
