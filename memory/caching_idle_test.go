package memory

import (
	"testing"
	"time"
)

// A Caching that nothing is asked of keeps what it may, the newest blocks, and gives
// the others back; one that is at work keeps all.
func TestCachingIdle(t *testing.T) {
	inner := NewCounted(Heap)
	c := NewCaching(inner, 1<<20)
	c.SetIdle(64<<10, time.Millisecond)
	var out []Block
	for range 8 {
		out = append(out, mustAllocate(t, c, 32<<10))
	}
	for _, b := range out {
		c.Free(b)
	}
	kept := func(want int64) {
		t.Helper()
		for range 10_000 {
			if c.Stats().Kept == want {
				return
			}
			time.Sleep(time.Millisecond)
		}
		t.Fatalf("%d bytes kept, want %d", c.Stats().Kept, want)
	}
	kept(64 << 10)
	b := mustAllocate(t, c, 32<<10)
	if at(b) != at(out[7]) {
		t.Error("the newest block was given back")
	}
	c.Free(b)
	kept(64 << 10)
}

// A clock that has run while something was asked runs again.
func TestCachingAsked(t *testing.T) {
	c := NewCaching(Heap, 1<<20)
	c.SetIdle(0, time.Hour)
	b := mustAllocate(t, c, 32<<10)
	c.Free(b)
	c.rest() // as if the hour were over: nothing was asked
	if s := c.Stats(); s.Kept != 0 {
		t.Fatalf("%+v", s)
	}
	b = mustAllocate(t, c, 32<<10)
	c.Free(b)
	c.Free(mustAllocate(t, c, 32<<10))
	c.rest()
	if s := c.Stats(); s.Kept != 32<<10 || !c.idle.set {
		t.Fatalf("%+v, clock set %t", s, c.idle.set)
	}
}
