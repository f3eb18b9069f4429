//go:build !amd64 || purego

package tier

// above are none: this build has only the loops in Go.
func above() []string { return nil }
