//go:build !linux

package processors

// online is empty: runtime.NumCPU counts.
func online() string { return "" }
