//go:build !linux

package memory

// preferHuge leaves the size of pages to the system here.
func preferHuge([]byte) {}
