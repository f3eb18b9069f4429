//go:build !amd64 || purego

package cpu

// tiersAbove are none: this build has only the loops in Go.
func tiersAbove() []tier { return nil }
