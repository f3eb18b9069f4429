package memory

import (
	"strings"
	"sync"
	"unsafe"
)

// Heap is the plain host allocator: aligned, garbage-collected Go memory. A
// block that is never freed is collected like any other Go value.
//
// On Linux and macOS the pages of a freed block of 16 KiB or more go back to the
// system at once, so that the process shrinks before the collector runs: beside
// tables of a GiB that is only after another GiB, which a query is long done with. The
// memory stays valid Go memory: whoever still holds a slice of it reads zeros
// or old bytes, never somebody else's. On Linux blocks of 8 MiB or more are of
// huge pages where the system has them (madvise or always in its setting
// transparent_hugepage).
//
// [SetHeapLimit] and the environment variable VOLLEY_MEMORY say how much it may
// give out at a time.
var Heap Allocator = heap{}

// large is from what size on a block is not cleared, and is counted one by one.
const large = 1 << 20

// paged is from what size on freed pages are handed back: three of four of a block
// of this size at least. Less is not worth the call.
const paged = 16 << 10

// huge is from what size on a block is of huge pages: less fits what a
// processor remembers of small ones, and would lose a share to the ends.
const huge = 8 << 20

type heap struct{}

func (heap) Place() Place { return Host }

// Allocate refuses what is more than the machine has: Go ends the process, and
// cannot be asked beforehand, when the system does not give what make wants.
func (heap) Allocate(size int64) (Block, error) {
	if size < 0 {
		return Block{}, mismatch("a block of %d bytes", size)
	}
	if size >= large && size > systemTotal() {
		return Block{}, &OutOfMemory{Place: Host, Requested: size, InUse: -1, Limit: systemTotal()}
	}
	if err := takeHeap(size, Padded(size)); err != nil {
		return Block{}, err
	}
	raw := room(int(Padded(size) + Alignment))
	if size >= huge {
		preferHuge(raw)
	}
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) & (Alignment - 1)
	return Block{Bytes: raw[skip:][:size:Padded(size)], Size: size, Tag: countHeap(raw, Padded(size))}, nil
}

// room is n bytes of Go memory, large ones as they are: make would clear them,
// on one thread and with nobody able to interrupt it, for longer than a query
// may take to stop. A strings.Builder is how Go gives bytes that it has not
// cleared. No string of it is kept, so nothing that is immutable changes.
func room(n int) []byte {
	if n < large {
		return make([]byte, n)
	}
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0)
	return unsafe.Slice(unsafe.StringData(b.String()), n)
}

func (heap) Free(b Block) {
	uncountHeap(b)
	if b.Size >= paged {
		forget(b.Bytes[:cap(b.Bytes)])
	}
}

// systemTotal is the memory there is, or what makes no limit where the system
// does not tell.
var systemTotal = sync.OnceValue(func() int64 {
	if total, _ := System(); total > 0 {
		return total
	}
	return 1 << 46
})

// wholePages cuts b to the pages that lie wholly inside of it.
func wholePages(b []byte, page int) []byte {
	skip := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & uintptr(page-1))
	if skip >= len(b) {
		return nil
	}
	return b[skip:][:(len(b)-skip)&^(page-1)]
}
