package memory

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"
)

func mustAllocate(t *testing.T, a Allocator, size int64) Block {
	t.Helper()
	b, err := a.Allocate(size)
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(b.Bytes)) != size || int64(cap(b.Bytes)) != Padded(size) || b.Size != size {
		t.Fatalf("asked for %d: %d bytes, cap %d, size %d", size, len(b.Bytes), cap(b.Bytes), b.Size)
	}
	return b
}

func at(b Block) *byte { return unsafe.SliceData(b.Bytes) }

func TestCachingReusesWhatFits(t *testing.T) {
	inner := NewCounted(Heap)
	c := NewCaching(inner, 1<<20)
	b := mustAllocate(t, c, 9000)
	first := at(b)
	c.Free(b)
	if k := c.Stats().Kept; k != Padded(9000) {
		t.Fatalf("%d bytes kept", k)
	}
	for _, size := range []int64{9000, 8990, 8100} { // wastes at most an eighth
		b = mustAllocate(t, c, size)
		if at(b) != first {
			t.Fatalf("%d bytes were not served by the block of 9000", size)
		}
		c.Free(b)
	}
	for _, size := range []int64{7900, 4000, 9100} {
		b = mustAllocate(t, c, size)
		if at(b) == first {
			t.Fatalf("%d bytes were served by the block of 9000", size)
		}
		defer c.Free(b)
	}
	if s := c.Stats(); s.Hits != 3 || s.Misses != 4 {
		t.Fatalf("%+v", s)
	}
}

func TestCachingTakesTheBestFit(t *testing.T) {
	c := NewCaching(Heap, 1<<20)
	var out []Block
	for _, size := range []int64{70400, 65600, 67200, 64000, 66560} {
		out = append(out, mustAllocate(t, c, size))
	}
	for _, b := range out {
		c.Free(b)
	}
	if b := mustAllocate(t, c, 64100); at(b) != at(out[1]) {
		t.Fatal("64100 bytes were not served by the block of 65600")
	}
}

func TestCachingDropsTheOldestFirst(t *testing.T) {
	inner := NewCounted(Heap)
	c := NewCaching(inner, 3*6400)
	var out []Block
	for i := range 5 {
		out = append(out, mustAllocate(t, c, int64(6400-64*i)))
	}
	for _, b := range out {
		c.Free(b)
	}
	s := c.Stats()
	if s.Kept > 3*6400 || s.InUse != 0 || inner.Stats().Bytes != s.Kept || inner.Stats().Blocks != 3 {
		t.Fatalf("%+v, %+v", s, inner.Stats())
	}
	if b := mustAllocate(t, c, 6400-64*4); at(b) != at(out[4]) {
		t.Fatal("the newest block was dropped")
	}
	if c.Trim() == 0 || c.Stats().Kept != 0 || inner.Stats().Blocks != 1 {
		t.Fatalf("%+v", inner.Stats())
	}
}

func TestCachingDropsBlocksBiggerThanItMayKeep(t *testing.T) {
	inner := NewCounted(Heap)
	c := NewCaching(inner, 1000)
	c.Free(mustAllocate(t, c, 2000))
	if inner.Stats().Blocks != 0 || c.Stats().Kept != 0 {
		t.Fatalf("%+v", c.Stats())
	}
}

// TestCachingNeverRaisesThePeak runs random work and holds what the inner
// allocator gave out at any time against what was in use at one time, and the slack.
// With slack fewer requests find no block.
func TestCachingNeverRaisesThePeak(t *testing.T) {
	without, with := cachingWork(t, 0), cachingWork(t, 1<<20)
	if with.Misses*2 > without.Misses {
		t.Fatalf("%d misses with slack, %d without", with.Misses, without.Misses)
	}
}

func cachingWork(t *testing.T, slack int64) CachingStats {
	const seed = 11
	r := rand.New(rand.NewPCG(seed, 1))
	inner := NewCounted(Heap)
	c := NewCaching(inner, 1<<22)
	c.SetSlack(slack)
	var out []Block
	for range 20000 {
		if len(out) > 0 && r.IntN(100) < 50 {
			i := r.IntN(len(out))
			c.Free(out[i])
			out[i] = out[len(out)-1]
			out = out[:len(out)-1]
		} else {
			b := mustAllocate(t, c, 1+r.Int64N(1<<uint(1+r.IntN(16))))
			for i := range b.Bytes {
				b.Bytes[i] = byte(len(out))
			}
			out = append(out, b)
		}
		s := c.Stats()
		if have := inner.Stats().Bytes; have != s.InUse+s.Kept || have > s.Peak+slack || s.Kept > 1<<22 {
			t.Fatalf("seed %d: %d bytes of the inner allocator, %+v", seed, have, s)
		}
	}
	s := c.Stats()
	if s.Hits < 1000 {
		t.Fatalf("seed %d: only %d hits", seed, s.Hits)
	}
	for _, b := range out {
		c.Free(b)
	}
	c.Trim()
	if err := inner.Check(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCachingGivesNoBlockTwice(t *testing.T) {
	inner := NewTraced(Heap)
	c := NewCaching(inner, 1<<16)
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			r := rand.New(rand.NewPCG(uint64(g), 5))
			for range 2000 {
				var out [4]Block
				for i := range out {
					b, err := c.Allocate(1 + r.Int64N(4000))
					if err != nil {
						t.Error(err)
						return
					}
					for k := range b.Bytes {
						b.Bytes[k] = byte(g<<4 | i)
					}
					out[i] = b
				}
				for i, b := range out {
					for _, v := range b.Bytes {
						if v != byte(g<<4|i) {
							t.Error("somebody else wrote to this block")
							return
						}
					}
					c.Free(b)
				}
			}
		}()
	}
	wait.Wait()
	c.Trim()
	if err := inner.Check(); err != nil {
		t.Fatal(err)
	}
	if s := c.Stats(); s.InUse != 0 || s.Kept != 0 || s.Stray != 0 {
		t.Fatalf("%+v", s)
	}
}

func TestCachingLeavesDoubleFreesAlone(t *testing.T) {
	for _, most := range []int64{1 << 20, 0} { // the block is kept, or given back
		inner := NewCounted(Heap)
		c := NewCaching(inner, most)
		b := mustAllocate(t, c, 5000)
		c.Free(b)
		c.Free(b)
		x, y := mustAllocate(t, c, 5000), mustAllocate(t, c, 5000)
		if at(x) == at(y) {
			t.Fatal("one block was given out twice")
		}
		c.Free(x)
		c.Free(y)
		c.Trim()
		if s := c.Stats(); s.Stray != 1 || s.InUse != 0 {
			t.Fatalf("%+v", s)
		}
		if err := inner.Check(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCachingGivesBackBeforeItFails(t *testing.T) {
	limit := NewLimited(Heap, 10240)
	c := NewCaching(limit, 1<<20)
	a, b := mustAllocate(t, c, 5120), mustAllocate(t, c, 5120)
	c.Free(a)
	c.Free(b)
	c.Free(mustAllocate(t, c, 10240)) // fits only when both are given back
	if _, err := c.Allocate(10241); !errors.Is(err, ErrOutOfMemory) {
		t.Fatal(err)
	}
	if s := c.Stats(); s.InUse != 0 || limit.InUse() != s.Kept {
		t.Fatalf("%+v, %d", s, limit.InUse())
	}
	if _, err := c.Allocate(-5); !errors.Is(err, ErrMismatch) {
		t.Fatal(err)
	}
	c.Free(mustAllocate(t, c, 0))
}

func TestClassesRiseWithSize(t *testing.T) {
	last := 0
	for size := int64(64); size < 1<<24; size += 64 {
		k := classOf(size)
		if k < last || k > last+1 {
			t.Fatalf("size %d: class %d after %d", size, k, last)
		}
		last = k
	}
	if k := classOf(1<<63 - 64); k >= classes {
		t.Fatalf("class %d", k)
	}
}
