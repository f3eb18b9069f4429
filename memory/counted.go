package memory

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Counted keeps count of an allocator's blocks, and tells leaks and blocks that
// were freed twice. Bytes are counted padded, as they are taken.
type Counted struct {
	inner  Allocator
	traced bool

	mu    sync.Mutex
	live  map[*counted]struct{}
	stats Stats
	stray []*counted // freed twice; nil for a block of somebody else
}

// Stats are the figures of a Counted at one moment.
type Stats struct {
	Bytes       int64 // of blocks that are out
	Blocks      int64 // that are out
	Peak        int64 // the most that Bytes has been
	Total       int64 // bytes given out since the beginning
	Allocations int64 // blocks given out since the beginning
	Stray       int64 // blocks freed that were not out
}

// counted is a block that is, or was, out.
type counted struct {
	inner Block
	sites []uintptr
}

// NewCounted keeps count of what inner gives out.
func NewCounted(inner Allocator) *Counted {
	return &Counted{inner: inner, live: make(map[*counted]struct{})}
}

// NewTraced is NewCounted that also remembers who asked for each block, for
// Check to tell. That takes about a microsecond a block.
func NewTraced(inner Allocator) *Counted {
	c := NewCounted(inner)
	c.traced = true
	return c
}

// Place is the inner allocator's.
func (c *Counted) Place() Place { return c.inner.Place() }

// Allocate asks the inner allocator and counts the block.
func (c *Counted) Allocate(size int64) (Block, error) {
	b, err := c.inner.Allocate(size)
	if err != nil {
		return Block{}, err
	}
	e := &counted{inner: b}
	if c.traced {
		var sites [16]uintptr
		e.sites = slices.Clone(sites[:runtime.Callers(2, sites[:])])
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live[e] = struct{}{}
	c.stats.Blocks++
	c.stats.Allocations++
	c.stats.Bytes += Padded(b.Size)
	c.stats.Total += Padded(b.Size)
	c.stats.Peak = max(c.stats.Peak, c.stats.Bytes)
	b.Tag = e
	return b, nil
}

// Free hands the block to the inner allocator. One that is not out is left
// alone, counted, and told by Check.
func (c *Counted) Free(b Block) {
	e, _ := b.Tag.(*counted)
	c.mu.Lock()
	if _, ok := c.live[e]; !ok {
		c.stats.Stray++
		c.stray = append(c.stray, e)
		c.mu.Unlock()
		return
	}
	delete(c.live, e)
	c.stats.Blocks--
	c.stats.Bytes -= Padded(e.inner.Size)
	c.mu.Unlock()
	c.inner.Free(e.inner)
}

// Stats gives the figures of this moment.
func (c *Counted) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stats
}

// Reset makes the peak what is in use now, and begins the totals anew.
func (c *Counted) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Peak, c.stats.Total, c.stats.Allocations = c.stats.Bytes, 0, 0
}

// Check is nil when every block was freed exactly once. Else its error lists
// the first of those that were not, with who asked for them if the Counted is
// a traced one.
func (c *Counted) Check() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []error
	if n := len(c.live); n > 0 {
		all = append(all, fmt.Errorf("%d blocks of %d bytes in all were not freed", n, c.stats.Bytes))
	}
	const most = 10
	told := 0
	for e := range c.live {
		if told++; told > most {
			break
		}
		all = append(all, fmt.Errorf("%d bytes were not freed%s", e.inner.Size, e.where()))
	}
	for _, e := range c.stray[:min(most, len(c.stray))] {
		if e == nil {
			all = append(all, errors.New("a block was freed that is not of this allocator"))
		} else {
			all = append(all, fmt.Errorf("%d bytes were freed twice%s", e.inner.Size, e.where()))
		}
	}
	return errors.Join(all...)
}

// where names who asked for the block, the nearest first.
func (e *counted) where() string {
	if len(e.sites) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("; allocated by")
	frames := runtime.CallersFrames(e.sites)
	for {
		f, more := frames.Next()
		if f.Function != "" {
			fmt.Fprintf(&b, "\n\t%s (%s:%d)", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}
