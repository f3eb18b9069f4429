//go:build !linux

package processors

// Mine is empty: it is not known to which processors a thread is bound.
func Mine() string { return "" }
