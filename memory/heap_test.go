package memory

import (
	"errors"
	"strings"
	"testing"
	"unsafe"
)

func TestHeapAlignsAndPads(t *testing.T) {
	for _, size := range []int64{0, 1, 63, 64, 65, 4095, 1 << 20, 3<<20 + 7} {
		b, err := Heap.Allocate(size)
		if err != nil {
			t.Fatal(err)
		}
		if int64(len(b.Bytes)) != size || int64(cap(b.Bytes)) != Padded(size) || b.Size != size || b.Handle != 0 {
			t.Fatalf("size %d: len %d, cap %d", size, len(b.Bytes), cap(b.Bytes))
		}
		if size > 0 && uintptr(unsafe.Pointer(unsafe.SliceData(b.Bytes)))%Alignment != 0 {
			t.Fatalf("a block of %d is not aligned", size)
		}
		Heap.Free(b)
	}
	if Heap.Place() != Host {
		t.Fatal(Heap.Place())
	}
}

func TestHeapRefusesWhatTheMachineHasNot(t *testing.T) {
	for _, size := range []int64{1 << 45, 1 << 50, 1<<63 - 1} {
		_, err := Heap.Allocate(size)
		var oom *OutOfMemory
		if !errors.Is(err, ErrOutOfMemory) || !errors.As(err, &oom) || oom.Requested != size || strings.Contains(err.Error(), "-1") {
			t.Fatalf("%d: %v", size, err)
		}
	}
	if _, err := Heap.Allocate(-1); !errors.Is(err, ErrMismatch) {
		t.Fatal(err)
	}
}

func TestWholePagesLieInside(t *testing.T) {
	raw := make([]byte, 5*4096)
	for from := 0; from < 4096; from += 64 {
		for _, n := range []int{0, 1, 4095, 4096, 8191, 8192, 3 * 4096} {
			b := raw[from : from+n]
			w := wholePages(b, 4096)
			if len(w)%4096 != 0 {
				t.Fatalf("%d bytes", len(w))
			}
			if len(w) == 0 {
				if n >= 2*4096 {
					t.Fatalf("no page in %d bytes", n)
				}
				continue
			}
			start := uintptr(unsafe.Pointer(&w[0]))
			low := uintptr(unsafe.Pointer(&b[0]))
			if start%4096 != 0 || start < low || start+uintptr(len(w)) > low+uintptr(n) || n-len(w) >= 2*4096 {
				t.Fatalf("from %d, %d bytes: %d at %d", from, n, len(w), start-low)
			}
		}
	}
}
