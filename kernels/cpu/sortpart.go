package cpu

import (
	"context"
	"math/bits"

	"github.com/volley-go/volley/device"
)

// partDigit is the most bits that sortPart looks at in one pass.
const partDigit = 11

// digits is a worker's room to sort parts: counters, of a pass and of those
// within it, and numbers for a network.
type digits struct {
	counts []*[1 << partDigit]uint32
	deep   int
	few    [networkRows]uint64
}

// take is n counters of 0, for as long as giveBack is not called.
func (d *digits) take(n int) []uint32 {
	if d.deep == len(d.counts) {
		d.counts = append(d.counts, new([1 << partDigit]uint32))
	}
	c := d.counts[d.deep][:n]
	d.deep++
	clear(c)
	return c
}

func (d *digits) giveBack() { d.deep-- }

// pairs are words and their rows.
type pairs[K row, R row] struct {
	words []K
	rows  []R
}

func (p pairs[K, R]) slice(a, b int) pairs[K, R] { return pairs[K, R]{p.words[a:b], p.rows[a:b]} }

// bucketRows is about the logarithm of how many rows share a digit: so few that
// a network sorts them.
const bucketRows = 3

// sortPart sorts pairs by their words, stably: one pass by the most significant
// of the bits that differ, so many that few rows agree in them, and a network
// for each of these few, or sortPart again where they are many. The result is in
// p, or in spare, which is as long: it says which. Words are in order there only
// if keep is set. There are fewer than 2^32 of them.
func sortPart[K row, R row](ctx context.Context, l *loops, room *digits, p, spare pairs[K, R], keep bool) (inSpare bool, err error) {
	if err := device.Canceled(ctx, "cpu", ""); err != nil {
		return false, err
	}
	n := len(p.words)
	if n <= insertionRows {
		insertPairs(p.words, p.rows)
		return false, nil
	}
	diff, rising := survey(p.words)
	if rising {
		return false, nil
	}
	low, high := bits.TrailingZeros64(uint64(diff)), bits.Len64(uint64(diff))
	use := max(bits.Len(uint(n))-bucketRows, high-networkBits)
	use = min(high-low, use, partDigit)
	shift := uint(high - use)
	counts := room.take(1 << uint(use))
	defer room.giveBack()
	countLoop[K](&l.histogram)(counters{all: counts, n: len(counts)}, p.words, digit{shift: shift, mask: uint64(len(counts) - 1)})
	sumUp(counts)
	if use == high-low {
		place(counts, p, spare, shift, keep)
		return true, nil
	}
	place(counts, p, spare, shift, true)
	return false, settle(ctx, l, room, counts, spare, p, keep)
}

// survey tells which bits differ among words, and whether none is less than the
// one before.
func survey[K row](words []K) (diff K, rising bool) {
	first, before := words[0], words[0]
	falls := K(0)
	for _, w := range words {
		diff |= w ^ first
		if w < before {
			falls = 1
		}
		before = w
	}
	return diff, falls == 0
}

// sumUp turns counts into the places of the first of each.
func sumUp(counts []uint32) {
	next := uint32(0)
	for d, k := range counts {
		counts[d] = next
		next += k
	}
}

// place moves pairs to the places of their digits, the words only if asked to.
func place[K row, R row](counts []uint32, from, to pairs[K, R], shift uint, words bool) {
	shift &= 63
	n := len(from.words)
	mask := K(len(counts) - 1)
	rows, toRows, toWords := from.rows[:n], to.rows[:n], to.words[:n]
	if !words {
		for i, w := range from.words {
			c := &counts[w>>shift&mask]
			at := *c
			*c = at + 1
			toRows[at] = rows[i]
		}
		return
	}
	for i, w := range from.words {
		c := &counts[w>>shift&mask]
		at := *c
		*c = at + 1
		toWords[at] = w
		toRows[at] = rows[i]
	}
}

// settle sorts the runs of pairs that end where ends says, into to.
func settle[K row, R row](ctx context.Context, l *loops, room *digits, ends []uint32, from, to pairs[K, R], keep bool) error {
	i := 0
	for _, end := range ends {
		j := int(end)
		switch n := j - i; {
		case n == 0:
			continue
		case n <= tinyRows:
			tinyPairs(from.slice(i, j), to.slice(i, j))
		case n <= networkRows:
			fewPairs(l, &room.few, from.slice(i, j), to.slice(i, j), keep)
		default:
			run, free := from.slice(i, j), to.slice(i, j)
			moved, err := sortPart(ctx, l, room, run, free, keep)
			if err != nil {
				return err
			}
			if !moved {
				copy(free.words, run.words)
				copy(free.rows, run.rows)
			}
		}
		i = j
	}
	return nil
}
