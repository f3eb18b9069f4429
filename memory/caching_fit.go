package memory

import "math/bits"

// classes is how many size classes there are: one for each count of 64 bytes
// up to 8, then eight for every doubling.
const classes = 8 * 64

// look is how many blocks of a class are looked at, the newest first.
const look = 32

// classOf is the class of a padded size: it never falls as the size grows.
func classOf(size int64) int {
	units := uint64(size) / Alignment
	if units < 8 {
		return int(units)
	}
	e := bits.Len64(units) - 4
	return 8*e + int(units>>e)
}

// fit finds the kept block that wastes least for padded bytes, nil if none
// wastes an eighth or less.
func (c *Caching) fit(padded int64) *cached {
	limit := padded + padded/8
	for k := classOf(padded); k <= classOf(limit); k++ {
		var best *cached
		n := 0
		for e := c.classes[k]; e != nil && n < look; e, n = e.next, n+1 {
			if e.size == padded {
				return e
			}
			if e.size > padded && e.size <= limit && (best == nil || e.size < best.size) {
				best = e
			}
		}
		if best != nil {
			return best
		}
	}
	return nil
}

// insert keeps e as the newest block.
func (c *Caching) insert(e *cached) {
	e.free = true
	e.older, e.newer = c.newest, nil
	if c.newest != nil {
		c.newest.newer = e
	} else {
		c.oldest = e
	}
	c.newest = e
	k := classOf(e.size)
	e.prev, e.next = nil, c.classes[k]
	if e.next != nil {
		e.next.prev = e
	}
	c.classes[k] = e
	c.stats.Kept += e.size
}

// remove takes e out of what is kept.
func (c *Caching) remove(e *cached) {
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		c.newest = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		c.oldest = e.newer
	}
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		c.classes[classOf(e.size)] = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	}
	e.older, e.newer, e.prev, e.next = nil, nil, nil, nil
	e.free = false
	c.stats.Kept -= e.size
}
