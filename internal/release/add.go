package release

import "sync/atomic"

// Add64 adds to a word that only one goroutine at a time writes.
func Add64(word *atomic.Uint64, n uint64) { Store64(word, word.Load()+n) }
