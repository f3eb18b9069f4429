//go:build !purego && !race

package release

import (
	"sync/atomic"
	"unsafe"
)

// Store32 stores v. The processor's stores are in order; the function being in
// assembly keeps the compiler from moving it.
//
//go:noescape
func Store32(word *atomic.Uint32, v uint32)

// AddEach adds to words that only one goroutine at a time writes.
//
//go:noescape
func AddEach(words *[8]atomic.Uint64, n *[8]uint64)

// Own asks for the lines of n bytes from p, at least one, to be this processor's to
// write, without waiting for them.
//
//go:noescape
func Own(p unsafe.Pointer, n int)

// StoreThree stores words one after another.
//
//go:noescape
func StoreThree(words *[3]atomic.Uint64, a, b, c uint64)

// Fetch asks for the line at p, to read, without waiting for it.
//
//go:noescape
func Fetch(p unsafe.Pointer)

// Store64 stores v.
//
//go:noescape
func Store64(word *atomic.Uint64, v uint64)
