package opencl

import (
	"fmt"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// allocator is one kind of memory of an opening: the core's until the opening
// is closed, and from then on only a place to free to.
type allocator struct {
	inner  memory.Allocator
	device *Device
}

// Memory allocates buffers of the device. Once the device is closed, Allocate
// returns ErrClosed; freeing goes on working.
func (d *Device) Memory() memory.Allocator { return &d.memory }

// Pinned allocates host memory of the driver (CL_MEM_ALLOC_HOST_PTR, mapped),
// which copies run fastest with.
func (d *Device) Pinned() memory.Allocator { return &d.pinned }

func (a *allocator) Place() memory.Place { return a.inner.Place() }

func (a *allocator) Allocate(size int64) (memory.Block, error) {
	if err := a.device.alive("allocate"); err != nil {
		return memory.Block{}, err
	}
	return a.inner.Allocate(size)
}

func (a *allocator) Free(b memory.Block) {
	c := a.device.core
	closed := a.device.closed.Load()
	if closed {
		c.retain() // the block may be the last that holds it
		defer c.release()
	}
	a.inner.Free(b)
	if closed && c.unused() {
		c.trim()
	}
}

// Trim hands blocks that are kept for reuse back to the driver and gives their
// bytes.
func (a *allocator) Trim() int64 { return a.device.core.trim() }

// outOfMemory says what was asked for and what there is.
func (c *core) outOfMemory(place memory.Place, call string, size int64, st status, why string) error {
	inner := &memory.OutOfMemory{Place: place, Requested: size, InUse: c.inUse.Load(), Limit: c.proc.info.Memory}
	return &device.Error{Device: c.proc.name, Call: call, Code: int(st), Kind: device.ErrOutOfMemory,
		Text: inner.Error() + "; " + why, Cause: inner}
}

// deviceMemory makes buffers of the device's memory.
type deviceMemory struct{ core *core }

func (m *deviceMemory) Place() memory.Place { return m.core.proc.place() }

func (m *deviceMemory) Allocate(size int64) (memory.Block, error) {
	const call = "clCreateBuffer"
	c := m.core
	if size < 0 {
		return memory.Block{}, device.Errorf(device.ErrMismatch, c.proc.name, call, "%d bytes", size)
	}
	if size == 0 {
		return memory.Block{}, nil
	}
	padded := memory.Padded(size)
	if padded < size || padded > c.proc.maxAllocate {
		return memory.Block{}, c.outOfMemory(m.Place(), call, size, 0, limitText(c.proc.maxAllocate))
	}
	if c.inUse.Add(padded) > c.proc.info.Memory {
		c.inUse.Add(-padded)
		return memory.Block{}, c.outOfMemory(m.Place(), call, size, 0, "the device has no more")
	}
	mem, st := c.drv.createBuffer(c.context, memReadWrite, uintptr(padded))
	var err error
	if st != success {
		err = m.refused(call, size, st)
	} else if err = m.touch(mem, size); err != nil {
		c.drv.releaseMemObject(mem)
	}
	if err != nil {
		c.inUse.Add(-padded)
		return memory.Block{}, err
	}
	c.retain()
	return memory.Block{Handle: mem, Size: size}, nil
}

// refused is the error of a call that asked for memory.
func (m *deviceMemory) refused(call string, size int64, st status) error {
	if st.kind() == device.ErrOutOfMemory {
		return m.core.outOfMemory(m.Place(), call, size, st, "the driver says "+st.String())
	}
	return m.core.failed(call, st)
}

// touch writes to a new buffer and waits for it: drivers find out that there
// is no memory when a buffer is first used.
func (m *deviceMemory) touch(mem handle, size int64) error {
	const call = "clEnqueueFillBuffer"
	c := m.core
	event, st := c.drv.enqueueFillBuffer(c.queue, mem, []byte{0}, 0, 1)
	if st != success {
		return m.refused(call, size, st)
	}
	if st = c.await(event, nil); st == success {
		return nil
	}
	return m.refused(call, size, st)
}

func (m *deviceMemory) Free(b memory.Block) {
	if b.Handle == 0 {
		return
	}
	m.core.drv.releaseMemObject(b.Handle)
	m.core.inUse.Add(-memory.Padded(b.Size))
	m.core.release()
}

// pinnedMemory makes host memory that the driver knows of.
type pinnedMemory struct{ core *core }

// pinned is a buffer that stays mapped.
type pinned struct {
	mem handle
	at  unsafe.Pointer
}

func (m *pinnedMemory) Place() memory.Place { return memory.Host }

func (m *pinnedMemory) Allocate(size int64) (memory.Block, error) {
	const call = "allocate pinned"
	c := m.core
	if size < 0 {
		return memory.Block{}, device.Errorf(device.ErrMismatch, c.proc.name, call, "%d bytes", size)
	}
	if size == 0 {
		return memory.Block{Bytes: []byte{}}, nil
	}
	take := memory.Padded(size) + memory.Alignment // drivers align to 64 bytes and more, but need not
	if take < size || take > c.proc.maxAllocate {
		return memory.Block{}, c.outOfMemory(m.Place(), call, size, 0, limitText(c.proc.maxAllocate))
	}
	mem, st := c.drv.createBuffer(c.context, memReadWrite|memAllocHostPtr, uintptr(take))
	if st != success {
		return memory.Block{}, m.refused(call, size, st)
	}
	at, st := c.drv.enqueueMapBuffer(c.queue, mem, mapRead|mapWrite, uintptr(take))
	if st != success {
		c.drv.releaseMemObject(mem)
		return memory.Block{}, m.refused(call, size, st)
	}
	c.retain()
	return memory.Block{Bytes: aligned(at, size, take), Size: size, Tag: &pinned{mem, at}}, nil
}

// aligned is size bytes, with their padding, of the take bytes at an address.
func aligned(at unsafe.Pointer, size, take int64) []byte {
	shift := -uintptr(at) % memory.Alignment
	return unsafe.Slice((*byte)(at), take)[shift:][:size:memory.Padded(size)]
}

func (m *pinnedMemory) refused(call string, size int64, st status) error {
	if st.kind() == device.ErrOutOfMemory {
		return m.core.outOfMemory(m.Place(), call, size, st, "the driver says "+st.String())
	}
	return m.core.failed(call, st)
}

func (m *pinnedMemory) Free(b memory.Block) {
	p, ok := b.Tag.(*pinned)
	if !ok {
		return
	}
	c := m.core
	if event, st := c.drv.enqueueUnmapMemObject(c.queue, p.mem, p.at); st == success {
		c.drv.waitForEvent(event)
		c.drv.releaseEvent(event)
	}
	c.drv.releaseMemObject(p.mem)
	c.release()
}

// limitText says how large a buffer may be.
func limitText(bytes int64) string {
	return fmt.Sprintf("the device allows %d bytes for one buffer", bytes)
}
