package cpu

import (
	"context"
	"math/bits"

	"github.com/volley-go/volley/device"
)

// Rows are sorted by their words in two steps, most significant bits first:
// all workers cut them by a prefix of their words into parts that fit the
// second-level cache, which touches main memory once, and then each part is
// sorted by one worker, in the cache, by as many bits more as tell its rows
// apart (see sortPart).
const (
	// prefixBits is the most bits that rows are cut by. Their counters fit the
	// second-level cache; more would cut skewed words finer, such as those of
	// floats, whose first bits are nearly the same.
	prefixBits = 16
	// partBits bounds the number of parts: 2048 places to write to fit the
	// second-level cache and its page table.
	partBits = 11
	// partRows is how many rows a part should have at least.
	partRows = 1 << 12
)

// cutting says how rows are cut into parts by their words: by the bits from
// shift on, which table turns into the number of a part, where it is not nil.
type cutting struct {
	shift uint
	mask  uint64
	table []uint16
	parts int
}

// cutter cuts words in as many pieces, which are counted and moved in parallel.
// Words of a part keep the order of pieces and that within each, so the result
// does not depend on their number.
type cutter[R row] struct {
	cutting
	counts [][]R // of each piece, by prefix; then the places of its next words, by part
	starts []R   // of each part, and the end of the last
}

// cut counts n words by a prefix and decides on the parts. Only bits of diff
// differ among the words.
func cut[K row, R row](ctx context.Context, l *loops, words []K, diff uint64) (*cutter[R], error) {
	n := len(words)
	low, high := bits.TrailingZeros64(diff), bits.Len64(diff)
	width := min(high-low, prefixBits, max(bits.Len(uint(n))-6, partBits))
	c := &cutter[R]{counts: make([][]R, min(workers(), 64))}
	c.shift, c.mask = uint(high-width), 1<<uint(width)-1
	err := tasks(ctx, len(c.counts), func(_, p int) error {
		c.counts[p] = make([]R, 1<<uint(width))
		from, to := c.piece(n, p)
		return countPrefixes(ctx, l, c.counts[p], words[from:to], c.shift)
	})
	if err != nil {
		return nil, err
	}
	c.decide(n, width)
	return c, nil
}

func (c *cutter[R]) piece(n, p int) (from, to int) {
	return n * p / len(c.counts), n * (p + 1) / len(c.counts)
}

// countPrefixes counts words by their bits from shift on, in c, whose counters are 0.
func countPrefixes[K row, R row](ctx context.Context, l *loops, c []R, words []K, shift uint) error {
	room := countersRoom(len(c), len(words))
	direct, ok := any(c).([]uint32)
	if ok = ok && room == len(c); !ok {
		direct = make([]uint32, room)
	}
	to, count, counted := countersOf(direct, len(c)), countLoop[K](&l.histogram), 0
	d := digit{shift: shift, mask: uint64(len(c) - 1), ahead: countAhead}
	for len(words) > 0 {
		if err := device.Canceled(ctx, "cpu", ""); err != nil {
			return err
		}
		some := words[:min(len(words), 4*morsel)]
		count(to, some, d)
		words = words[len(some):]
		if counted += len(some); !ok && (len(words) == 0 || counted >= mostCounted) {
			addTo(to, c)
			clear(direct)
			counted = 0
		}
	}
	return nil
}

// mostCounted is after how many words counters of 32 bits are added to those of rows.
const mostCounted = 1 << 31

// decide makes parts of neighbouring prefixes: of equally many where no part is
// far bigger than the others then, else of as many as make up the rows.
func (c *cutter[R]) decide(n, width int) {
	total := make([]R, 1<<uint(width))
	for _, counts := range c.counts {
		for d, k := range counts {
			total[d] += k
		}
	}
	want := min(bits.Len(uint(n/partRows)), partBits, width) // bits of the part's number
	fold := uint(width - want)
	most, usual := R(0), R(n>>uint(want))
	for d := 0; d < len(total); d += 1 << fold {
		sum := R(0)
		for _, k := range total[d : d+1<<fold] {
			sum += k
		}
		most = max(most, sum)
	}
	if fold == 0 || most <= 4*usual {
		c.shift, c.mask, c.parts = c.shift+fold, c.mask>>fold, 1<<uint(want)
	} else {
		c.table = make([]uint16, len(total))
		part, sum, limit := 0, R(0), usual+1
		for d, k := range total {
			if sum > 0 && sum+k > limit {
				part, sum = part+1, 0
			}
			c.table[d] = uint16(part)
			sum += k
		}
		c.parts = part + 1
	}
	next := R(0)
	c.starts = make([]R, c.parts+1)
	places := make([][]R, len(c.counts))
	for p, counts := range c.counts {
		places[p] = make([]R, c.parts)
		for d, k := range counts {
			places[p][c.part(d, fold)] += k
		}
	}
	for d := range c.parts {
		c.starts[d] = next
		for _, p := range places {
			next, p[d] = next+p[d], next
		}
	}
	c.starts[c.parts], c.counts = next, places
}

// part is the part of a prefix.
func (c *cutting) part(prefix int, fold uint) int {
	if c.table != nil {
		return int(c.table[prefix])
	}
	return prefix >> fold
}

// move moves the words and rows to their parts; without rows they are numbered
// from 0.
func move[K row, R row](ctx context.Context, c *cutter[R], words []K, rows []R, toWords []K, toRows []R) error {
	return tasks(ctx, len(c.counts), func(_, p int) error {
		from, to := c.piece(len(words), p)
		for from < to {
			if err := device.Canceled(ctx, "cpu", ""); err != nil {
				return err
			}
			next := min(to, from+4*morsel)
			var some []R
			if rows != nil {
				some = rows[from:next]
			}
			scatter(&c.cutting, c.counts[p], words[from:next], some, R(from), toWords, toRows)
			from = next
		}
		return nil
	})
}

func scatter[K, R, P row](c *cutting, places []P, words []K, rows []R, first R, toWords []K, toRows []R) {
	shift, mask := c.shift&63, K(c.mask)
	toRows = toRows[:len(toWords)]
	switch {
	case c.table != nil && rows == nil:
		for i, w := range words {
			place := &places[c.table[w>>shift&mask]]
			at := *place
			*place = at + 1
			toWords[at] = w
			toRows[at] = first + R(i)
		}
	case c.table != nil:
		rows = rows[:len(words)]
		for i, w := range words {
			place := &places[c.table[w>>shift&mask]]
			at := *place
			*place = at + 1
			toWords[at] = w
			toRows[at] = rows[i]
		}
	case rows == nil:
		for i, w := range words {
			place := &places[w>>shift&mask]
			at := *place
			*place = at + 1
			toWords[at] = w
			toRows[at] = first + R(i)
		}
	default:
		rows = rows[:len(words)]
		for i, w := range words {
			place := &places[w>>shift&mask]
			at := *place
			*place = at + 1
			toWords[at] = w
			toRows[at] = rows[i]
		}
	}
}
