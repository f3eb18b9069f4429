package cpu

import (
	"context"
	"math/bits"

	"github.com/volley-go/volley/device"
)

// partDigit is the most bits that sortPart looks at in one pass.
const partDigit = 11

// digits are the counters of a worker that sorts parts.
type digits struct{ low, high [1 << partDigit]uint32 }

// pairs are words and their rows.
type pairs[K row, R row] struct {
	words []K
	rows  []R
}

func (p pairs[K, R]) slice(a, b int) pairs[K, R] { return pairs[K, R]{p.words[a:b], p.rows[a:b]} }

// sortPart sorts pairs by their words, stably, in one or two passes from the
// least digit on over the most significant of the bits that differ: so many
// that rows which agree in them are few. Those are sorted by insertion, or by
// sortPart again. The result is in p, or in spare, which is as long: it says
// which. Words are not in order there unless keep is set. There are fewer than
// 2^32 of them.
func sortPart[K row, R row](ctx context.Context, room *digits, p, spare pairs[K, R], keep bool) (inSpare bool, err error) {
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
	size := bits.Len(uint(n))
	use := min(high-low, size+3, 2*partDigit)
	shift, settled := uint(high-use), use == high-low
	most := min(max(size-2, 7), partDigit)
	given := p
	if use <= most { // one pass
		counts := room.low[:1<<uint(use)]
		clear(counts)
		mask := K(len(counts) - 1)
		for _, w := range p.words {
			counts[w>>shift&mask]++
		}
		sumUp(counts)
		place(counts, p, spare, shift, keep || !settled)
		inSpare = true
		p = spare
	} else {
		first := uint(use / 2)
		a, b := room.low[:1<<first], room.high[:1<<(uint(use)-first)]
		clear(a)
		clear(b)
		maskA, maskB := K(len(a)-1), K(len(b)-1)
		for _, w := range p.words {
			a[w>>shift&maskA]++
			b[w>>(shift+first)&maskB]++
		}
		sumUp(a)
		sumUp(b)
		place(a, p, spare, shift, true)
		place(b, spare, p, shift+first, keep || !settled)
	}
	if !settled {
		other := spare
		if inSpare {
			other = given
		}
		err = settle(ctx, room, p, other, shift)
	}
	return inSpare, err
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

// settle sorts the runs of pairs whose words agree from bit shift on.
func settle[K row, R row](ctx context.Context, room *digits, p, spare pairs[K, R], shift uint) error {
	w := p.words
	for i := 1; i < len(w); i++ {
		if w[i]>>shift != w[i-1]>>shift {
			continue
		}
		j := i + 1
		for j < len(w) && w[j]>>shift == w[i]>>shift {
			j++
		}
		run, free := p.slice(i-1, j), spare.slice(i-1, j)
		moved, err := sortPart(ctx, room, run, free, true)
		if err != nil {
			return err
		}
		if moved {
			copy(run.words, free.words)
			copy(run.rows, free.rows)
		}
		i = j
	}
	return nil
}
