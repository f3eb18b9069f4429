//go:build !amd64 || purego || race

package release

import (
	"sync/atomic"
	"unsafe"
)

// Store32 stores v.
func Store32(word *atomic.Uint32, v uint32) { word.Store(v) }

// AddEach adds to words that only one goroutine at a time writes.
func AddEach(words *[8]atomic.Uint64, n *[8]uint64) {
	for i := range words {
		if n[i] != 0 {
			words[i].Store(words[i].Load() + n[i])
		}
	}
}

// Own says that this processor will soon write the n bytes from p: a hint, which is left
// here.
func Own(p unsafe.Pointer, n int) {}

// StoreThree stores words one after another.
func StoreThree(words *[3]atomic.Uint64, a, b, c uint64) {
	words[0].Store(a)
	words[1].Store(b)
	words[2].Store(c)
}

// Fetch says that this processor will soon read the line at p: a hint, which is left here.
func Fetch(p unsafe.Pointer) {}

// Store64 stores v.
func Store64(word *atomic.Uint64, v uint64) { word.Store(v) }
