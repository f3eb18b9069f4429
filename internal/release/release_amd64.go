//go:build !purego && !race

package release

import "sync/atomic"

// Store32 stores v. The processor's stores are in order; the function being in
// assembly keeps the compiler from moving it.
//
//go:noescape
func Store32(word *atomic.Uint32, v uint32)

// Store64 stores v.
//
//go:noescape
func Store64(word *atomic.Uint64, v uint64)
