package storage

import (
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/volley-go/volley/memory"
)

// allocationFailed is what arena.Allocate panics with: the allocator interface
// of arrow-go has no error to return. guard turns it into its error.
type allocationFailed struct{ err error }

// Error is the text of the cause, for decoders that turn panics into errors.
func (a allocationFailed) Error() string { return a.err.Error() }

// Unwrap is the cause.
func (a allocationFailed) Unwrap() error { return a.err }

// arena is the allocator that one task gives to arrow-go: one row group, say.
// It takes blocks from a volley allocator and knows which are in use, so that
// those that a failed decoder forgot, or keeps for a finalizer, are given back
// when the arena closes. Blocks that columns were made of live until the last
// of those is released.
type arena struct {
	mu     sync.Mutex
	from   memory.Allocator
	most   int64          // of one allocation
	raw    bool           // long blocks need not be zeroed
	mapped *memory.Buffer // a file that bytes may lie in, or nil
	closed bool
	blocks map[*byte]*arenaBlock
}

type arenaBlock struct {
	memory.Block
	decoder bool // arrow-go has not freed it
	held    int  // buffers of columns on it
}

// newArena makes an arena that refuses single allocations above most bytes.
func newArena(from memory.Allocator, most int64) *arena {
	return &arena{from: from, most: most, blocks: map[*byte]*arenaBlock{}}
}

// longBlock is from what size on a raw arena leaves a block as it is: more than
// any bitmap of a batch (see batchRows), which decoders may count on to be zero.
const longBlock = 1 << 18

// Allocate gives zeroed memory, as arrow-go's builders expect, or panics with
// allocationFailed. Long blocks of a raw arena are not zeroed: values that a
// decoder writes, or that are under nulls.
func (a *arena) Allocate(n int) []byte { return a.take(int64(n), a.most) }

// give is Allocate of any size: its caller has held it against the file.
func (a *arena) give(n int64) []byte { return a.take(n, math.MaxInt64) }

func (a *arena) take(n, most int64) []byte {
	if n == 0 {
		return []byte{}
	}
	if n > most || n < 0 {
		panic(allocationFailed{fmt.Errorf("%w: %d bytes asked for at once, more than the %d that the file's size admits", memory.ErrOutOfMemory, n, most)})
	}
	block, err := a.from.Allocate(n)
	if err != nil {
		panic(allocationFailed{err})
	}
	if !a.raw || n < longBlock {
		clear(block.Bytes[:cap(block.Bytes)])
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed { // a decoder that outlived its task: nothing will free this but the collector
		a.from.Free(block)
		return make([]byte, n)
	}
	a.blocks[unsafe.SliceData(block.Bytes)] = &arenaBlock{Block: block, decoder: true}
	return block.Bytes
}

// Reallocate gives n bytes that begin with those of b, in place where they fit.
func (a *arena) Reallocate(n int, b []byte) []byte {
	if n > 0 && n <= cap(b) {
		if n > len(b) && (!a.raw || n < longBlock) {
			clear(b[len(b):n])
		}
		return b[:n]
	}
	grown := a.Allocate(n)
	copy(grown, b)
	a.Free(b)
	return grown
}

// Free takes a block back from arrow-go; memory that is not, or no more, of
// the arena is passed over.
func (a *arena) Free(b []byte) {
	if cap(b) == 0 {
		return
	}
	key := unsafe.SliceData(b)
	a.mu.Lock()
	defer a.mu.Unlock()
	if block := a.blocks[key]; block != nil {
		block.decoder = false
		a.drop(key, block)
	}
}

// drop frees a block that nobody uses. The lock is held.
func (a *arena) drop(key *byte, block *arenaBlock) {
	if block.held == 0 && (!block.decoder || a.closed) {
		delete(a.blocks, key)
		a.from.Free(block.Block)
	}
}

// hold makes a buffer of bytes that lie in a block with base address root. It
// keeps the block until the buffer's last release. Bytes that the decoder took
// from the Go heap are kept by the reference to them.
func (a *arena) hold(root, bytes []byte) *memory.Buffer {
	if cap(root) == 0 {
		return memory.Wrap(bytes, nil)
	}
	if b := a.inFile(bytes); b != nil {
		return b
	}
	key := unsafe.SliceData(root)
	a.mu.Lock()
	defer a.mu.Unlock()
	block := a.blocks[key]
	if block == nil {
		return memory.Wrap(bytes, nil)
	}
	block.held++
	return memory.Wrap(bytes, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		block.held--
		a.drop(key, block)
	})
}

// inFile is the buffer of bytes that lie in the mapped file, which it keeps
// mapped; nil for others.
func (a *arena) inFile(bytes []byte) *memory.Buffer {
	if a.mapped == nil || len(bytes) == 0 {
		return nil
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(bytes))) - uintptr(unsafe.Pointer(unsafe.SliceData(a.mapped.Bytes())))
	if at >= uintptr(a.mapped.Len()) {
		return nil
	}
	b, err := a.mapped.Slice(int64(at), int64(len(bytes)))
	if err != nil {
		return nil
	}
	return b
}

// close gives back every block that no column holds, now, and the others when
// their columns are released.
func (a *arena) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	for key, block := range a.blocks {
		a.drop(key, block)
	}
}
