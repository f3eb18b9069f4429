package memory

import (
	"errors"
	"sync"
)

// Caching keeps freed blocks for reuse: fresh memory costs a page fault every
// 4 KiB (a driver call on a GPU), memory that was used before costs nothing.
//
// A request takes the best fitting block that is kept, if one is no more than
// an eighth too big; else it goes to the inner allocator. Two rules bound what
// is kept, the oldest dropped first: never more than the given number of bytes,
// and never so much that blocks in use and blocks kept are together more than
// the most that was in use at one time. The second means that a Caching does not
// make a program's peak higher, but by what [Caching.SetSlack] allows. A third, a
// lower bound for when nothing was asked of it for a while, is [Caching.SetIdle]'s.
type Caching struct {
	inner Allocator
	max   int64
	slack int64

	mu             sync.Mutex
	classes        [classes]*cached
	oldest, newest *cached
	stats          CachingStats
	idle           idle
}

// CachingStats are the figures of a Caching at one moment. Bytes are padded
// ones, as taken from the inner allocator.
type CachingStats struct {
	Kept   int64 // bytes of freed blocks kept
	InUse  int64 // bytes of blocks that are out
	Peak   int64 // the most InUse has been
	Hits   int64 // requests served from what was kept
	Misses int64 // requests served by the inner allocator
	Stray  int64 // blocks given to Free that were not out: freed twice, say
}

// cached is a block of the inner allocator, for as long as it is not given
// back to it.
type cached struct {
	owner        *Caching
	block        Block
	size         int64 // Padded(block.Size)
	free         bool  // kept, not in use
	older, newer *cached
	prev, next   *cached // of the same class, the newest first
}

// NewCaching keeps up to maxBytes of the freed blocks of inner. With 0 it
// keeps nothing and only counts.
func NewCaching(inner Allocator, maxBytes int64) *Caching {
	c := &Caching{inner: inner, max: maxBytes}
	if inner == Heap {
		watchPool(c)
	}
	return c
}

// SetSlack lets blocks in use and blocks kept be so many bytes more, together, than the
// most that was in use at one time. Batches of a file are a few MiB of many sizes: without
// slack half of their requests find no block that fits. It is called before the first Allocate.
func (c *Caching) SetSlack(bytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.slack = bytes
}

// Place is the inner allocator's.
func (c *Caching) Place() Place { return c.inner.Place() }

// Allocate takes a kept block or asks the inner allocator; when that is out of
// memory, it gives back everything kept and asks once more.
func (c *Caching) Allocate(size int64) (Block, error) {
	if size <= 0 {
		return c.inner.Allocate(size)
	}
	padded := Padded(size)
	c.mu.Lock()
	if e := c.fit(padded); e != nil {
		c.remove(e)
		c.stats.Hits++
		c.stats.InUse += e.size
		c.stats.Peak = max(c.stats.Peak, c.stats.InUse)
		c.mu.Unlock()
		return e.cut(size), nil
	}
	c.stats.Misses++
	c.stats.InUse += padded
	drop := c.shrink(max(0, min(c.max, c.stats.Peak+c.slack-c.stats.InUse)))
	c.mu.Unlock()

	c.giveBack(drop)
	b, err := c.inner.Allocate(size)
	if errors.Is(err, ErrOutOfMemory) && c.Trim() > 0 {
		b, err = c.inner.Allocate(size)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.stats.InUse -= padded
		return Block{}, err
	}
	c.stats.Peak = max(c.stats.Peak, c.stats.InUse)
	e := &cached{owner: c, block: b, size: padded}
	return e.cut(size), nil
}

// cut is the block as a caller that asked for size bytes sees it.
func (e *cached) cut(size int64) Block {
	b := Block{Handle: e.block.Handle, Size: size, Tag: e}
	if e.block.Bytes != nil {
		b.Bytes = e.block.Bytes[:size:Padded(size)]
	}
	return b
}

// Free keeps the block, or hands it to the inner allocator. A block that is
// not out is left alone and counted (CachingStats.Stray).
func (c *Caching) Free(b Block) {
	e, ok := b.Tag.(*cached)
	if !ok || e.owner != c {
		c.inner.Free(b) // of no bytes: it was handed through
		return
	}
	c.mu.Lock()
	if e.free {
		c.stats.Stray++
		c.mu.Unlock()
		return
	}
	e.free = true
	c.stats.InUse -= e.size
	var drop *cached
	if e.size > c.max {
		drop = e
	} else {
		drop = c.shrink(c.max - e.size)
		c.insert(e)
		c.watch()
	}
	c.mu.Unlock()
	c.giveBack(drop)
}

// Trim hands all kept blocks to the inner allocator and gives their bytes.
func (c *Caching) Trim() int64 {
	c.mu.Lock()
	kept := c.stats.Kept
	drop := c.shrink(0)
	c.mu.Unlock()
	c.giveBack(drop)
	return kept
}

// Stats gives the figures of this moment.
func (c *Caching) Stats() CachingStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// shrink takes out the oldest blocks until no more than limit bytes are kept,
// and gives them as a list by older.
func (c *Caching) shrink(limit int64) (drop *cached) {
	for c.stats.Kept > limit {
		e := c.oldest
		c.remove(e)
		e.free = true // a second Free of it must still be noticed
		e.older = drop
		drop = e
	}
	return drop
}

// giveBack hands a list of blocks to the inner allocator, outside of the lock.
func (c *Caching) giveBack(drop *cached) {
	for e := drop; e != nil; {
		next := e.older
		e.older = nil
		c.inner.Free(e.block)
		e.block = Block{}
		e = next
	}
}
