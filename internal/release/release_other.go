//go:build !amd64 || purego || race

package release

import "sync/atomic"

// Store32 stores v.
func Store32(word *atomic.Uint32, v uint32) { word.Store(v) }

// Store64 stores v.
func Store64(word *atomic.Uint64, v uint64) { word.Store(v) }
