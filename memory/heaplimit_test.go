package memory

import (
	"errors"
	"runtime"
	"testing"
	"time"
)

// limitHeap sets a limit of so many bytes more than are held now, for a test.
func limitHeap(t *testing.T, more int64) {
	t.Helper()
	before, err := SetHeapLimit(HeapInUse() + more)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := SetHeapLimit(before); err != nil {
			t.Error(err)
		}
	})
}

func TestHeapLimitRefusesAndGoesOn(t *testing.T) {
	const room = 4 << 20
	limitHeap(t, room)
	limit, err := HeapLimit()
	if err != nil {
		t.Fatal(err)
	}
	first := mustAllocate(t, Heap, 3<<20)
	_, err = Heap.Allocate(2 << 20)
	var oom *OutOfMemory
	if !errors.As(err, &oom) || oom.Requested != 2<<20 || oom.Limit != limit || oom.InUse <= limit-2<<20 {
		t.Fatalf("%v, of a limit of %d", err, limit)
	}
	Heap.Free(mustAllocate(t, Heap, 1<<20))
	Heap.Free(first)
	Heap.Free(mustAllocate(t, Heap, room))
	if HeapInUse() > limit-room { // less where forgotten blocks of other tests were collected
		t.Fatalf("%d bytes in use, %d before", HeapInUse(), limit-room)
	}
	for _, size := range []int64{limit + 1, 1 << 62, 1<<63 - 1} {
		if _, err := Heap.Allocate(size); !errors.Is(err, ErrOutOfMemory) {
			t.Fatalf("%d: %v", size, err)
		}
	}
	if _, err := SetHeapLimit(-1); !errors.Is(err, ErrMismatch) {
		t.Fatal(err)
	}
}

// TestHeapLimitTakesBackWhatPoolsKeep has one pool keep all that there is, and others ask for it: another pool, and Heap itself.
func TestHeapLimitTakesBackWhatPoolsKeep(t *testing.T) {
	const room = 8 << 20
	limitHeap(t, room)
	keeps, other := NewCaching(Heap, room), NewCaching(Heap, room)
	for _, asks := range []Allocator{Heap, other, keeps} {
		keeps.Free(mustAllocate(t, keeps, room))
		asks.Free(mustAllocate(t, asks, room/2+1))
		other.Trim()
		keeps.Trim()
	}
	runtime.KeepAlive(keeps)
}

// TestHeapLimitBindsPools lowers the limit below what a pool keeps, which then gives out no more either.
func TestHeapLimitBindsPools(t *testing.T) {
	keeps := NewCaching(Heap, 8<<20)
	keeps.Free(mustAllocate(t, keeps, 4<<20))
	kept := keeps.Stats().Kept
	limitHeap(t, (1<<20)-kept)
	if b, err := keeps.Allocate(4 << 20); !errors.Is(err, ErrOutOfMemory) {
		t.Fatalf("%d bytes, %v", b.Size, err)
	}
	keeps.Free(mustAllocate(t, keeps, 1<<20))
}

func TestHeapLimitCountsForgottenBlocksUntilTheyAreCollected(t *testing.T) {
	limitHeap(t, 1<<20)
	before := HeapInUse()
	for range 4 {
		mustAllocate(t, Heap, 100<<10)
	}
	for range 1000 {
		runtime.GC()
		if HeapInUse() <= before {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%d bytes in use, %d before", HeapInUse(), before)
}

func TestHeapLimitIsReadAsNumbersOfBytes(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "4096": 4096, "4e9": 4e9, "512MiB": 512 << 20, " 1.5 GiB ": 3 << 29, "2KiB": 2048, "1TiB": 1 << 40} {
		if got, err := parseBytes(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "GiB", "4GB", "1e40", "NaN", "+Inf", "four"} {
		if got, err := parseBytes(text); !errors.Is(err, ErrMismatch) {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
}
