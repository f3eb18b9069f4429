package memory

import (
	"os"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// resident counts the pages of b that are in memory.
func resident(t *testing.T, b []byte) int {
	t.Helper()
	pages := wholePages(b, os.Getpagesize())
	vec := make([]byte, len(pages)/os.Getpagesize())
	_, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&pages[0])), uintptr(len(pages)), uintptr(unsafe.Pointer(&vec[0])))
	if e != 0 {
		t.Fatal(e)
	}
	n := 0
	for _, v := range vec {
		n += int(v & 1)
	}
	return n
}

// Blocks of the size of a morsel's columns leave memory, too: the collector does not come to them within a query.
func TestFreedMorselsLeaveMemory(t *testing.T) {
	for _, size := range []int64{paged, 64 << 10, 200<<10 + 64, 512 << 10, large - 64} {
		b, err := Heap.Allocate(size)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b.Bytes {
			b.Bytes[i] = 1
		}
		written := resident(t, b.Bytes)
		Heap.Free(b)
		if n := resident(t, b.Bytes); written == 0 || n != 0 {
			t.Fatalf("a block of %d: %d pages resident when written, %d when freed", size, written, n)
		}
	}
}

func TestFreedBlocksLeaveMemory(t *testing.T) {
	b, err := Heap.Allocate(8<<20 + 100)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b.Bytes {
		b.Bytes[i] = 1
	}
	if n := resident(t, b.Bytes); n < 2000 {
		t.Fatalf("%d pages of a written block are resident", n)
	}
	Heap.Free(b)
	if n := resident(t, b.Bytes); n != 0 {
		t.Fatalf("%d pages of a freed block are resident", n)
	}
	b.Bytes[5<<20] = 3 // a late writer does no harm
	if b.Bytes[5<<20] != 3 || b.Bytes[4<<20] != 0 {
		t.Fatal("freed pages do not read as zeros")
	}
}
