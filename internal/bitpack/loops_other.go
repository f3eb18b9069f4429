//go:build !amd64 || purego

package bitpack

// loopsOf are the loops of a tier: this build has only those in Go.
func loopsOf(name string) *Loops { return &Loops{Name: name} }
