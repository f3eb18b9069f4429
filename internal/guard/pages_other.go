//go:build !linux

package guard

import "github.com/volley-go/volley/memory"

// newPages falls back to poisoned zones, which the package comment promises
// where memory cannot be unmapped.
func newPages(Mode) *Allocator { return Checked(memory.Heap) }
