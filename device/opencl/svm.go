package opencl

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// WithSVM makes the device's pinned memory shared virtual memory that host and
// device use by turns without a copy (fine-grained SVM, OpenCL 2.0): its
// buffers are launch arguments like those of the device's own memory. What a
// launch uses, the host must not touch until it is done. Where the device has
// no such memory ("svm" is not among its features), Open returns an
// ErrUnsupported.
func WithSVM() Option { return func(o *options) { o.svm = true } }

// sharedMemory makes shared virtual memory, and knows what is out.
type sharedMemory struct {
	core *core

	mu  sync.Mutex
	out []sharedRange // by address
}

// sharedRange is a block's addresses.
type sharedRange struct{ first, end uintptr }

func (m *sharedMemory) Place() memory.Place { return memory.Host }

func (m *sharedMemory) Allocate(size int64) (memory.Block, error) {
	const call = "clSVMAlloc"
	c := m.core
	if size < 0 {
		return memory.Block{}, device.Errorf(device.ErrMismatch, c.proc.name, call, "%d bytes", size)
	}
	if size == 0 {
		return memory.Block{Bytes: []byte{}}, nil
	}
	take := memory.Padded(size) + memory.Alignment
	if take < size || take > c.proc.maxAllocate {
		return memory.Block{}, c.outOfMemory(m.Place(), call, size, 0, limitText(c.proc.maxAllocate))
	}
	at := c.drv.svmAlloc(c.context, memReadWrite|svmFineGrainFlag, uintptr(take))
	if at == nil {
		return memory.Block{}, c.outOfMemory(m.Place(), call, size, 0, "the driver gives none")
	}
	c.retain()
	r := sharedRange{uintptr(at), uintptr(at) + uintptr(take)}
	m.mu.Lock()
	i, _ := slices.BinarySearchFunc(m.out, r.first, sharedRange.compare)
	m.out = slices.Insert(m.out, i, r)
	m.mu.Unlock()
	return memory.Block{Bytes: aligned(at, size, take), Size: size, Tag: at}, nil
}

// compare is the order by first addresses.
func (r sharedRange) compare(first uintptr) int {
	switch {
	case r.first < first:
		return -1
	case r.first > first:
		return 1
	}
	return 0
}

func (m *sharedMemory) Free(b memory.Block) {
	at, ok := b.Tag.(unsafe.Pointer)
	if !ok {
		return
	}
	m.mu.Lock()
	if i, found := slices.BinarySearchFunc(m.out, uintptr(at), sharedRange.compare); found {
		m.out = slices.Delete(m.out, i, i+1)
	}
	m.mu.Unlock()
	m.core.drv.svmFree(m.core.context, at)
	m.core.release()
}

// has reports whether the bytes are of a block that is out.
func (m *sharedMemory) has(bytes []byte) bool {
	first := uintptr(unsafe.Pointer(unsafe.SliceData(bytes)))
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := slices.BinarySearchFunc(m.out, first, sharedRange.compare)
	if !found {
		i--
	}
	return i >= 0 && first+uintptr(len(bytes)) <= m.out[i].end
}

// shared sets an argument that is shared memory: the part of the buffer, or
// its allocation's start. It is false for a buffer that is none.
func (l *launch) shared(i uint32, b *memory.Buffer, base bool) (bool, error) {
	f := l.function
	c := f.module.device.core
	if b == nil || b.Len() == 0 || !b.Place().HostAccessible() || !c.shared.has(b.Bytes()) {
		return false, nil
	}
	at := unsafe.Pointer(unsafe.SliceData(b.Bytes()))
	if _, offset := b.Handle(); base {
		at = unsafe.Add(at, -offset)
	}
	if st := c.drv.setKernelArgSVMPointer(l.kernel, i, at); st != success {
		return true, f.module.device.mismatch(f.name, "argument %d, shared memory: %v", i, st)
	}
	l.held = append(l.held, b.Retain())
	return true, nil
}
