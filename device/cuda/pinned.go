package cuda

import (
	"math"
	"unsafe"

	"github.com/volley-go/volley/memory"
)

// Flags of cuMemHostAlloc and cuMemHostRegister: memory of every context, with
// an address for the GPU.
const hostPortableMapped = 1 | 2

// pinnedMemory is host memory that the driver pins.
type pinnedMemory struct{ device *Device }

// Place is host memory pinned for the GPU.
func (m *pinnedMemory) Place() memory.Place {
	return memory.Place{Type: memory.CUDAHost, ID: int32(m.device.context.ordinal)}
}

func (m *pinnedMemory) Allocate(size int64) (memory.Block, error) {
	const call = "allocate pinned memory"
	d := m.device
	switch total, _ := memory.System(); {
	case size < 0:
		return memory.Block{}, d.mismatch(call, "a block of %d bytes", size)
	case size == 0:
		return memory.Block{Bytes: []byte{}}, nil
	case size > math.MaxInt64-memory.Alignment || total > 0 && size > total:
		return memory.Block{}, m.outOfMemory(call, size)
	}
	if !d.acquire() {
		return memory.Block{}, d.closedError(call)
	}
	padded := memory.Padded(size)
	var p unsafe.Pointer
	c := d.in(func() (c code) {
		p, c = d.lib.driver.hostAlloc(padded, hostPortableMapped)
		return c
	})
	if c == success {
		return memory.Block{Bytes: unsafe.Slice((*byte)(p), padded)[:size:padded], Size: size, Tag: d}, nil
	}
	d.release()
	if c == errorOutOfMemory {
		return memory.Block{}, m.outOfMemory(call, size)
	}
	return memory.Block{}, d.check(call, c)
}

func (m *pinnedMemory) Free(b memory.Block) {
	d, ok := b.Tag.(*Device)
	if !ok || d != m.device {
		return // of no bytes
	}
	c := d.in(func() code { return d.lib.driver.hostFree(unsafe.Pointer(unsafe.SliceData(b.Bytes))) })
	_ = d.check("free pinned memory", c) // a loss that shows here is kept; there is nobody else to tell
	d.release()
}

func (m *pinnedMemory) outOfMemory(call string, size int64) error {
	total, free := memory.System()
	return m.device.outOfMemory(call, m.Place(), size, free, total)
}

// Register pins host memory that exists already, so that copies to and from it
// run as with pinned memory, and gives it as a buffer. The last Release ends the
// pinning and then calls release, if that is not nil; the bytes must stay where
// they are until then, as memory of the Go heap does and of mmap does if it is
// not unmapped. Pinning costs about as long as copying the bytes once.
func (d *Device) Register(b []byte, release func()) (*memory.Buffer, error) {
	const call = "register host memory"
	if err := d.alive(call); err != nil {
		return nil, err
	}
	if len(b) == 0 {
		return nil, d.mismatch(call, "no bytes given")
	}
	if !d.acquire() {
		return nil, d.closedError(call)
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	c := d.in(func() code { return d.lib.driver.hostRegister(p, int64(len(b)), hostPortableMapped) })
	if c != success {
		d.release()
		if c == errorOutOfMemory {
			return nil, (&pinnedMemory{d}).outOfMemory(call, int64(len(b)))
		}
		return nil, d.check(call, c)
	}
	place := (&pinnedMemory{d}).Place()
	return memory.WrapBlock(place, memory.Block{Bytes: b, Size: int64(len(b))}, func() {
		c := d.in(func() code { return d.lib.driver.hostUnregister(p) })
		_ = d.check("unregister host memory", c) // a loss that shows here is kept
		d.release()
		if release != nil {
			release()
		}
	}), nil
}
