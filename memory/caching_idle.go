package memory

import "time"

// idle is when a Caching gives back a share of what it keeps.
type idle struct {
	bytes int64         // what is kept all the same
	after time.Duration // 0: never
	asked int64         // requests, when the clock was set
	set   bool          // a clock runs
}

// SetIdle makes the Caching keep no more than maxBytes once nothing has been asked of
// it for a time: between after and twice that, since a clock is only set when more is
// kept and looks at what has been asked meanwhile. It is called before the first
// Allocate. What a query frees is then there for the next one, and goes back to the
// system soon after the last.
func (c *Caching) SetIdle(maxBytes int64, after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle.bytes, c.idle.after = maxBytes, after
}

// watch sets the clock where more is kept than is to be of an idle Caching. c.mu is held.
func (c *Caching) watch() {
	if i := &c.idle; !i.set && i.after > 0 && c.stats.Kept > i.bytes {
		i.set, i.asked = true, c.stats.Hits+c.stats.Misses
		time.AfterFunc(i.after, c.rest)
	}
}

// rest is what happens when the clock has run.
func (c *Caching) rest() {
	c.mu.Lock()
	c.idle.set = false
	var drop *cached
	if c.stats.Hits+c.stats.Misses == c.idle.asked {
		drop = c.shrink(c.idle.bytes)
	}
	c.watch()
	c.mu.Unlock()
	c.giveBack(drop)
}
