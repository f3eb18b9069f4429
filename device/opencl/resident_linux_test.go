package opencl

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"
)

// resident is the memory that the process holds, without what Go may give back.
func resident(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	content, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(content), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}
