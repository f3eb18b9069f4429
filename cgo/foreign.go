package main

// #include "base.h"
import "C"

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// foreign is memory of somebody else, which is given back when nothing refers to it any more.
type foreign struct {
	refs    atomic.Int64
	release func()
}

// borrow is foreign memory with one reference, the caller's.
func borrow(release func()) *foreign {
	f := &foreign{release: release}
	f.refs.Store(1)
	return f
}

func (f *foreign) drop() {
	if f.refs.Add(-1) == 0 {
		f.release()
	}
}

// lowest is the first address at which a program may have memory.
const lowest = 4096

// buffer is n bytes of the memory from p on. A pointer that is not aligned as kernels read is copied from.
func (f *foreign) buffer(p uintptr, n int64, align int) (*memory.Buffer, error) {
	if n == 0 {
		return memory.Wrap([]byte{}, nil), nil
	}
	if p == 0 {
		return nil, mismatch("a buffer of %d bytes is NULL", n)
	}
	if p < lowest {
		return nil, mismatch("a buffer of %d bytes at %#x", n, p)
	}
	if n < 0 || n > 1<<47 {
		return nil, mismatch("a buffer of %d bytes", n)
	}
	bytes := unsafe.Slice((*byte)(pointer(p)), n)
	if p%uintptr(align) != 0 {
		own, err := memory.New(memory.Heap, n)
		if err == nil {
			copy(own.Bytes(), bytes)
		}
		return own, err
	}
	f.refs.Add(1)
	return memory.Wrap(bytes, f.drop), nil
}

// moveArray moves an array out of the structure that C gave.
func moveArray(p *C.struct_ArrowArray) (*C.struct_ArrowArray, *foreign, error) {
	if p == nil {
		return nil, nil, mismatch("the array is NULL")
	}
	if p.release == nil {
		return nil, nil, fmt.Errorf("%w: the array was released", device.ErrClosed)
	}
	own := (*C.struct_ArrowArray)(C.calloc(1, C.sizeof_struct_ArrowArray))
	if own == nil {
		return nil, nil, device.Errorf(device.ErrOutOfMemory, "", "calloc", "an array")
	}
	*own = *p
	p.release = nil
	return own, borrow(func() {
		C.vly_call_release_array(own)
		C.free(unsafe.Pointer(own))
	}), nil
}
