//go:build !amd64 || purego

package delimit

// loopsOf are the loops of a tier: this build has only those in Go.
func loopsOf(name string) *Loops { return &Loops{name, marks} }
