package cpu

import (
	"context"
	"math/bits"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// carrier sorts words and what goes with them, a value of another column or the
// row's number. Columns are read twice, once to count and once to move words to
// their part (see cutting), which is where they end: a part is sorted with a
// worker's room of a part's size, in its second-level cache, and the keys are had
// back from the words while they are there. So of n rows of 16 bytes 24 are read
// (the keys once more to find their range), 16 written, read and written again,
// and there is room for the result and no more.
type carrier[R row] struct {
	ctx     context.Context
	loops   *loops
	alloc   memory.Allocator
	cutBy   *level[R]        // what rows are cut by
	by      *level[R]        // what they are sorted by: the same, or the next
	payload []R              // nil for row numbers
	all     int              // rows, with those apart
	apart   *apart[R]        // nil where no rows are
	first   int              // place of the first of the words among all rows
	whole   pairs[uint64, R] // of all rows, of which words and rows are those from first on
	words   []uint64
	rows    []R
	restore []*restored[R] // one whose values take the place of the words is the last
}

// carryRoom is a worker's room for blocks of words.
type carryRoom[R row] struct {
	raw, cut, words  [block]uint64
	digits           digits
	valid, nulls     [block / 8]byte // of a block, where nulls are apart
	numbers, carried [block]R
	lines            lines[R]
}

// sort is not done where a part would be too big for one worker.
func (c *carrier[R]) sort() (done bool, err error) {
	n := len(c.words)
	width := min(c.cutBy.bits, prefixBits, max(bits.Len(uint(n))-6, partBits))
	cut := &cutter[uint32]{counts: make([][]uint32, min(workers(), 64))}
	cut.shift, cut.mask = uint(c.cutBy.bits-width), 1<<uint(width)-1
	var rooms private[carryRoom[R]]
	if c.apart != nil {
		c.apart.next = make([]int, len(cut.counts))
	}
	err = tasks(c.ctx, len(cut.counts), func(worker, p int) error {
		counts := make([]uint32, 1<<uint(width))
		cut.counts[p] = counts
		to, by := counters{all: counts, n: len(counts)}, digit{shift: cut.shift, mask: cut.mask}
		return c.blocks(cut, p, rooms.of(worker), func(_ int64, room *carryRoom[R], k, kept int) {
			c.loops.histogram.u64(to, room.cut[:kept], by)
			if k > kept {
				c.apart.next[p] += k - kept
			}
		})
	})
	if err != nil {
		return false, err
	}
	cut.decide(n, width)
	whole := cut.table == nil && cut.shift == 0 // all words of a part are the same
	if c.by != c.cutBy && !whole {
		return false, nil
	}
	most := 0
	for p := range cut.parts {
		most = max(most, int(cut.starts[p+1]-cut.starts[p]))
	}
	if whole && c.by == c.cutBy {
		most = 0 // nothing is left to sort
	}
	if most > bigRows {
		return false, nil
	}
	if c.apart != nil {
		c.apart.place()
	}
	lined := c.lined()
	err = tasks(c.ctx, len(cut.counts), func(worker, p int) error {
		room := rooms.of(worker)
		if lined {
			room.lines.begin(cut.counts[p], c.first, c.whole.words, c.whole.rows)
			defer room.lines.end()
		}
		return c.blocks(cut, p, room, func(from int64, room *carryRoom[R], k, kept int) { c.move(cut, p, from, room, k, kept, lined) })
	})
	if err != nil {
		return false, err
	}
	spares := newRooms(c.alloc, int64(most)*16)
	defer spares.release()
	return true, tasks(c.ctx, cut.parts, func(worker, p int) error {
		i, j := int(cut.starts[p]), int(cut.starts[p+1])
		if i == j {
			return nil
		}
		room := rooms.of(worker)
		if most > 0 {
			b, err := spares.get(worker)
			if err != nil {
				return err
			}
			part := pairs[uint64, R]{c.words[i:j], c.rows[i:j]}
			spare := pairs[uint64, R]{memory.View[uint64](b)[:j-i], memory.View[R](b)[8*most/int(unsafe.Sizeof(R(0))):][:j-i]}
			keep := len(c.restore) > 0
			inSpare, err := sortPart(c.ctx, c.loops, &room.digits, part, spare, keep)
			if err != nil {
				return err
			}
			if inSpare {
				copy(part.rows, spare.rows)
				if keep {
					copy(part.words, spare.words)
				}
			}
		}
		c.finish(room, i, j, uint64(p))
		return nil
	})
}

// blocks makes the words of a piece of the rows block by block: those to cut by
// in room.cut. f gets the number of rows of a block and that of those not apart.
func (c *carrier[R]) blocks(cut *cutter[uint32], p int, room *carryRoom[R], f func(from int64, room *carryRoom[R], k, kept int)) error {
	a, b := cut.piece(c.all, p)
	for from := a; from < b; from += block {
		if (from-a)%morsel == 0 {
			if err := device.Canceled(c.ctx, "cpu", ""); err != nil {
				return err
			}
		}
		k := min(block, b-from)
		kept := k
		if c.apart != nil {
			kept = c.apart.fill(&c.cutBy.fields[0], room, int64(from), k)
		} else {
			c.cutBy.fill(room.cut[:k], room.raw[:], nil, int64(from), 0)
		}
		f(int64(from), room, k, kept)
	}
	return nil
}

// lined reports whether rows go to their parts by way of lines.
func (c *carrier[R]) lined() bool {
	if c.whole.words == nil {
		c.whole = pairs[uint64, R]{c.words, c.rows}
	}
	from := c.loops.lines.from
	return from > 0 && len(c.words) >= from && beginLines(c.whole.words, c.whole.rows)
}

// number gives the rows of a block that begins at one.
func (r *carryRoom[R]) number(from int64, k int) []R {
	numbers := r.numbers[:k]
	for i := range numbers {
		numbers[i] = R(from) + R(i)
	}
	return numbers
}

// move moves a block's rows to their parts.
func (c *carrier[R]) move(cut *cutter[uint32], p int, from int64, room *carryRoom[R], k, kept int, lined bool) {
	places, words := cut.counts[p], room.cut[:kept]
	var carried []R
	if c.payload != nil {
		carried = c.payload[from : from+int64(k)]
	}
	if c.apart != nil {
		carried = c.apart.carry(p, room, carried, from, k, kept)
	}
	if lined {
		if carried == nil {
			carried = room.number(from, k)
		}
		by := words
		if c.by != c.cutBy {
			words = room.words[:k]
			c.by.fill(words, room.raw[:], nil, from, 0)
		}
		room.lines.put(c.loops, &cut.cutting, by, words, carried)
		return
	}
	if c.by == c.cutBy {
		scatter(&cut.cutting, places, words, carried, R(from), c.words, c.rows)
		return
	}
	c.by.fill(room.words[:k], room.raw[:], nil, from, 0)
	toWords, toRows := c.words, c.rows[:len(c.words)]
	for i, w := range words {
		place := &places[w&cut.mask]
		at := *place
		*place = at + 1
		toWords[at] = room.words[i]
		if carried == nil {
			toRows[at] = R(from) + R(i)
		} else {
			toRows[at] = carried[i]
		}
	}
}

// finish has the keys back of the sorted rows [i, j), those of part p.
func (c *carrier[R]) finish(room *carryRoom[R], i, j int, p uint64) {
	for at := i; at < j; at += block {
		words := c.words[at:min(at+block, j)]
		for _, r := range c.restore {
			if r.cut {
				from := room.cut[:len(words)]
				for k := range from {
					from[k] = p
				}
				r.values(c.first+at, from, room.raw[:])
			} else {
				r.values(c.first+at, words, room.raw[:])
			}
		}
	}
}
