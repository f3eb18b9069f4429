package memory

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

func TestLimitedRefusesWhatIsTooMuch(t *testing.T) {
	l := NewLimited(Heap, 1024)
	a := mustAllocate(t, l, 1000) // 1024 padded
	_, err := l.Allocate(1)
	var oom *OutOfMemory
	if !errors.As(err, &oom) || oom.Requested != 1 || oom.InUse != 1024 || oom.Limit != 1024 || !errors.Is(err, ErrOutOfMemory) {
		t.Fatal(err)
	}
	if !strings.Contains(err.Error(), "1 bytes requested, 0 free (1024 in use of a limit of 1024)") {
		t.Fatal(err)
	}
	l.Free(mustAllocate(t, l, 0))
	l.Free(a)
	if l.InUse() != 0 || l.Limit() != 1024 {
		t.Fatal(l.InUse())
	}
	for _, size := range []int64{1025, 1 << 62, 1<<63 - 1} {
		if _, err := l.Allocate(size); !errors.Is(err, ErrOutOfMemory) {
			t.Fatalf("%d: %v", size, err)
		}
	}
	if _, err := l.Allocate(-1); !errors.Is(err, ErrMismatch) {
		t.Fatal(err)
	}
	outer := NewLimited(l, 1<<20)
	if _, err := outer.Allocate(2000); !errors.Is(err, ErrOutOfMemory) || outer.InUse() != 0 {
		t.Fatalf("%v, %d in use after a failure", err, outer.InUse())
	}
}

func TestLimitedHoldsAmongManyGoroutines(t *testing.T) {
	inner := NewCounted(Heap)
	l := NewLimited(inner, 64*10)
	var wait sync.WaitGroup
	for range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for range 3000 {
				if b, err := l.Allocate(64 * 3); err == nil {
					l.Free(b)
				}
			}
		}()
	}
	wait.Wait()
	s := inner.Stats()
	if l.InUse() != 0 || s.Peak > 64*10 || s.Allocations == 0 {
		t.Fatalf("%d in use, %+v", l.InUse(), s)
	}
}
