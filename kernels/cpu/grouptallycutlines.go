package cpu

import "unsafe"

// groupLines are a worker's lines of the pieces of a firstCut: eight sums and their
// counts. Those that are full wait in a queue until they are stored past the caches
// (see lineLoops) one after another: asking for a place in between, of which other
// workers take some too, would wait for each store to be done.
type groupLines struct {
	room   []uint64
	used   []uint8 // of each piece's lines
	queue  []uint64
	pieces [lineQueue]uint32 // of each in the queue
	queued int
}

// lineQueue is how many lines wait at most: 8 KiB.
const lineQueue = 64

func newGroupLines(pieces int) *groupLines {
	return &groupLines{room: lineRoom(pieces * 16), used: make([]uint8, pieces), queue: lineRoom(lineQueue * 16)}
}

// addLines cuts groups by way of lines, which keep some until end.
func (c *firstCut[S]) addLines(g *groupLines, array []tally[S]) {
	piece, used := (32+c.shift)&63, g.used
	room := unsafe.Pointer(unsafe.SliceData(g.room))
	for i := range array {
		t := &array[i]
		p := t.counts >> piece
		k := used[p]
		line := (*[16]uint64)(unsafe.Add(room, p*128))
		line[k&7], line[8+(k&7)] = *(*uint64)(unsafe.Pointer(&t.sum)), t.counts
		used[p] = (k + 1) & 7
		if k == 7 {
			*(*[16]uint64)(g.queue[g.queued*16:]) = *line
			g.pieces[g.queued] = uint32(p)
			if g.queued++; g.queued == lineQueue {
				c.drain(g)
			}
		}
	}
	c.drain(g)
	c.l.lines.fence()
}

// drain stores the lines in the queue.
func (c *firstCut[S]) drain(g *groupLines) {
	for i, p := range g.pieces[:g.queued] {
		g.pieces[i] = c.next[p].Add(8) - 8
	}
	for i, at := range g.pieces[:g.queued] {
		sums, counts := c.sums.s[at:][:8], c.counts.s[at:][:8]
		c.l.lines.store((*uint64)(unsafe.Pointer(&sums[0])), &counts[0], &g.queue[i*16])
	}
	g.queued = 0
}

// end adds what is left in lines.
func (c *firstCut[S]) end() {
	if c.lines == nil {
		return
	}
	for _, g := range c.lines.all {
		for p, n := range g.used {
			line, at := g.room[p*16:][:16], c.next[p].Add(uint32(n))-uint32(n)
			for k := range uint32(n) {
				c.sums.s[at+k], c.counts.s[at+k] = *(*S)(unsafe.Pointer(&line[k])), line[8+k]
			}
		}
	}
}
