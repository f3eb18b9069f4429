//go:build !amd64 || purego

package order

// vectors leaves all to once.
func vectors(*network, []int64) int { return 0 }
