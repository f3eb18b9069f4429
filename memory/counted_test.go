package memory

import (
	"strings"
	"sync"
	"testing"
)

func TestCountedCounts(t *testing.T) {
	c := NewCounted(Heap)
	a, b := mustAllocate(t, c, 100), mustAllocate(t, c, 200)
	c.Free(a)
	if s := c.Stats(); s != (Stats{Bytes: 256, Blocks: 1, Peak: 384, Total: 384, Allocations: 2}) {
		t.Fatalf("%+v", s)
	}
	c.Reset()
	if s := c.Stats(); s != (Stats{Bytes: 256, Blocks: 1, Peak: 256}) {
		t.Fatalf("%+v", s)
	}
	c.Free(b)
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Allocate(-1); err == nil || c.Stats().Blocks != 0 {
		t.Fatal("a failed request was counted")
	}
}

func TestCountedTellsLeaksAndDoubleFrees(t *testing.T) {
	c := NewTraced(Heap)
	mustAllocate(t, c, 77)
	b := mustAllocate(t, c, 88)
	c.Free(b)
	c.Free(b)
	c.Free(Block{Size: 5})
	err := c.Check()
	if err == nil {
		t.Fatal("nothing was told")
	}
	for _, want := range []string{
		"1 blocks of 128 bytes in all were not freed", "77 bytes were not freed; allocated by", "88 bytes were freed twice",
		"not of this allocator", "TestCountedTellsLeaksAndDoubleFrees",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if c.Stats().Stray != 2 {
		t.Fatalf("%+v", c.Stats())
	}
}

func TestCountedFromManyGoroutines(t *testing.T) {
	c := NewCounted(NewCounted(Heap)) // tags of the inner one are kept
	var wait sync.WaitGroup
	for range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for i := range 1000 {
				b, err := c.Allocate(int64(i))
				if err != nil {
					t.Error(err)
					return
				}
				c.Free(b)
			}
		}()
	}
	wait.Wait()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	if s := c.Stats(); s.Bytes != 0 || s.Allocations != 8000 {
		t.Fatalf("%+v", s)
	}
}
