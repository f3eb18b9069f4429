//go:build !amd64 || purego

package bitpack

// tiersAbove are none: this build has only the loops in Go.
func tiersAbove() []*Loops { return nil }
