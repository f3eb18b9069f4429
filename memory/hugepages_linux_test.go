package memory

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// flagsAt are the flags of the mapping that holds an address.
func flagsAt(t *testing.T, at uintptr) []string {
	t.Helper()
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	inside := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var from, to uintptr
		if k, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &from, &to); k == 2 {
			inside = from <= at && at < to
		}
		if flags, ok := strings.CutPrefix(lines.Text(), "VmFlags:"); ok && inside {
			return strings.Fields(flags)
		}
	}
	t.Fatalf("no mapping holds %x", at)
	return nil
}

// Whether pages then are huge is for the system to say; that they were asked
// for shows in the mapping.
func TestLargeBlocksAskForHugePages(t *testing.T) {
	_, err := os.Stat("/sys/kernel/mm/transparent_hugepage/enabled")
	known := err == nil // else the kernel was built without them
	b, err := Heap.Allocate(huge)
	if err != nil {
		t.Fatal(err)
	}
	defer Heap.Free(b)
	if flags := flagsAt(t, uintptr(unsafe.Pointer(&b.Bytes[huge/2]))); slices.Contains(flags, "hg") != known {
		t.Errorf("the flags of a large block are %v", flags)
	}
}
