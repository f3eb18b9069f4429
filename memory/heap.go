package memory

import "unsafe"

// Heap is the plain host allocator: aligned, garbage-collected Go memory. A
// block that is never freed is collected like any other Go value.
var Heap Allocator = heap{}

// maxBlock keeps padding and alignment inside of what make takes.
const maxBlock = 1 << 46

type heap struct{}

func (heap) Place() Place { return Host }

func (heap) Allocate(size int64) (b Block, err error) {
	if size < 0 {
		return Block{}, mismatch("a block of %d bytes", size)
	}
	if size > maxBlock {
		return Block{}, &OutOfMemory{Place: Host, Requested: size, InUse: -1, Limit: -1}
	}
	raw := make([]byte, Padded(size)+Alignment)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & (Alignment - 1)
	return Block{Bytes: raw[skip:][:size:Padded(size)], Size: size}, nil
}

func (heap) Free(Block) {}
