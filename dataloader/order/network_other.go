//go:build !amd64

package order

// vectors leaves all to once.
func vectors(*network, []int64) int { return 0 }
