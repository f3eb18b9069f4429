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

// Own says that this processor will soon write the line at p: a hint, which this one
// leaves.
func Own(p unsafe.Pointer) {}

// Store64 stores v.
func Store64(word *atomic.Uint64, v uint64) { word.Store(v) }
