package memory

import (
	"sync/atomic"
	"unsafe"
)

// Buffer is a counted, contiguous run of bytes in one place. Its length never
// changes. All methods may be called from any goroutine; the bytes themselves
// are guarded by whoever writes them.
type Buffer struct {
	block  Block
	place  Place
	refs   atomic.Int64
	free   func(Block) // nil when there is nothing to free
	parent *Buffer     // kept alive by a slice
	offset int64       // of a slice, from the start of the root's Handle
}

var overReleases atomic.Int64

// OverReleases counts the calls of Release, in this process, on a buffer or
// column that had no reference left. They do nothing; a test that checks for
// leaks checks this number too.
func OverReleases() int64 { return overReleases.Load() }

// New allocates a buffer of n bytes with undefined contents.
func New(a Allocator, n int64) (*Buffer, error) {
	if n < 0 {
		return nil, mismatch("buffer of %d bytes", n)
	}
	block, err := a.Allocate(n)
	if err != nil {
		return nil, err
	}
	b := &Buffer{block: block, place: a.Place(), free: a.Free}
	b.refs.Store(1)
	return b, nil
}

// NewZeroed allocates a host buffer of n zero bytes; the padding is zero too.
// For a place that the host cannot address the error is an ErrMismatch.
func NewZeroed(a Allocator, n int64) (*Buffer, error) {
	if !a.Place().HostAccessible() {
		return nil, mismatch("%s: the host cannot clear this memory", a.Place())
	}
	b, err := New(a, n)
	if err != nil {
		return nil, err
	}
	clear(b.block.Bytes[:cap(b.block.Bytes)])
	return b, nil
}

// Wrap makes a buffer of host bytes that somebody else owns. release, if not
// nil, is called once, with the last Release.
func Wrap(bytes []byte, release func()) *Buffer {
	return WrapBlock(Host, Block{Bytes: bytes, Size: int64(len(bytes))}, release)
}

// WrapBlock makes a buffer of a block that somebody else owns, in any place.
// release, if not nil, is called once, with the last Release.
func WrapBlock(place Place, block Block, release func()) *Buffer {
	b := &Buffer{block: block, place: place}
	if release != nil {
		b.free = func(Block) { release() }
	}
	b.refs.Store(1)
	return b
}

// Len is the buffer's length in bytes.
func (b *Buffer) Len() int64 { return b.block.Size }

// Place says where the bytes live.
func (b *Buffer) Place() Place { return b.place }

// Bytes is the buffer as a Go slice, or nil where the host cannot address it.
// It is valid until the last Release.
func (b *Buffer) Bytes() []byte { return b.block.Bytes }

// Handle is the driver's address or handle of the allocation that the buffer
// belongs to, and the offset of its first byte therein. For host memory both
// are 0.
func (b *Buffer) Handle() (handle uintptr, offset int64) { return b.block.Handle, b.offset }

// Refs is the number of references at this moment: a buffer with one may be
// changed in place by its owner.
func (b *Buffer) Refs() int64 { return b.refs.Load() }

// Retain adds a reference and returns b. On a nil buffer it does nothing.
func (b *Buffer) Retain() *Buffer {
	if b != nil {
		b.refs.Add(1)
	}
	return b
}

// Release drops a reference and frees the bytes with the last one. On a nil
// buffer it does nothing.
func (b *Buffer) Release() {
	if b == nil {
		return
	}
	switch left := b.refs.Add(-1); {
	case left > 0:
	case left < 0:
		b.refs.Store(0)
		overReleases.Add(1)
	default:
		block := b.block
		b.block = Block{}
		if b.parent != nil {
			b.parent.Release()
		} else if b.free != nil {
			b.free(block)
		}
	}
}

// Slice is a buffer over n bytes of b from offset, without a copy; it keeps b
// alive. A range outside of b is an ErrMismatch.
func (b *Buffer) Slice(offset, n int64) (*Buffer, error) {
	if offset < 0 || n < 0 || offset > b.Len()-n {
		return nil, mismatch("bytes [%d, %d) of a buffer of %d", offset, offset+n, b.Len())
	}
	block := Block{Handle: b.block.Handle, Size: n}
	if b.block.Bytes != nil {
		block.Bytes = b.block.Bytes[offset : offset+n]
	}
	s := &Buffer{block: block, place: b.place, parent: b.Retain(), offset: b.offset + offset}
	s.refs.Store(1)
	return s, nil
}

// Fixed lists the Go types that a column's values are viewed as.
type Fixed interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~[16]byte
}

// View is the host buffer b as a slice of T, without a copy; bytes after the
// last whole T are left out. It is nil for a nil buffer and for one that the
// host cannot address, and valid until the buffer's last Release.
func View[T any](b *Buffer) []T {
	if b == nil || len(b.block.Bytes) == 0 {
		return nil
	}
	var t T
	n := len(b.block.Bytes) / int(unsafe.Sizeof(t))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b.block.Bytes))), n)
}
