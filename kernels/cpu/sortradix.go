package cpu

import (
	"context"
	"math/bits"

	"github.com/volley-go/volley/device"
)

// digit is the most bits that radix looks at in one pass: 2048 places to write
// to fit the second-level cache and its page table.
const digit = 11

// counters count the words of a part of the rows by their digit, and then say
// where the next one goes.
type counters[R row] [1 << digit]R

// radix sorts rows by their words, stably, least digit first, with spare room
// as long. Only bits of diff differ among the words. The rows are cut into as
// many parts as there are counters, which are counted and moved in parallel:
// words of a digit keep the order of parts and that within each, so the
// result does not depend on their number.
func radix[K row, R row](ctx context.Context, parts []counters[R], words, spareWords []K, rows, spareRows []R, diff uint64) error {
	low, high := bits.TrailingZeros64(diff), bits.Len64(diff)
	passes := (high - low + digit - 1) / digit
	if len(words) < 1<<14 { // fewer counters to clear
		passes = (high - low + 7) / 8
	}
	n := len(words)
	cut := func(part int) (from, to int) { return n * part / len(parts), n * (part + 1) / len(parts) }
	w, sw, r, sr := words, spareWords, rows, spareRows
	swapped := false
	for p := range passes {
		from, to := low+(high-low)*p/passes, low+(high-low)*(p+1)/passes
		shift, size := uint(from), 1<<uint(to-from)
		err := tasks(ctx, len(parts), func(_, part int) error {
			a, b := cut(part)
			return countDigits(ctx, &parts[part], w[a:b], shift, size)
		})
		if err != nil {
			return err
		}
		if places(parts, size, R(n)) {
			continue // all words have one digit here
		}
		err = tasks(ctx, len(parts), func(_, part int) error {
			a, b := cut(part)
			return scatter(ctx, &parts[part], w[a:b], r[a:b], sw, sr, shift, size)
		})
		if err != nil {
			return err
		}
		w, sw, r, sr = sw, w, sr, r
		swapped = !swapped
	}
	if !swapped {
		return nil
	}
	return tasks(ctx, len(parts), func(_, part int) error {
		a, b := cut(part)
		copy(words[a:b], w[a:b])
		copy(rows[a:b], r[a:b])
		return nil
	})
}

// countDigits counts the words of a part by the digit from bit shift on.
func countDigits[K row, R row](ctx context.Context, c *counters[R], words []K, shift uint, size int) error {
	clear(c[:size])
	mask := K(size - 1)
	for len(words) > 0 {
		if err := device.Canceled(ctx, "cpu", ""); err != nil {
			return err
		}
		some := words[:min(len(words), 4*morsel)]
		for _, w := range some {
			c[(w>>shift&mask)&(1<<digit-1)]++
		}
		words = words[len(some):]
	}
	return nil
}

// places turns counts into the place of each part's first word of each digit.
// It is true where one digit has all n words.
func places[R row](parts []counters[R], size int, n R) bool {
	next := R(0)
	for d := range size {
		before := next
		for p := range parts {
			count := parts[p][d]
			parts[p][d] = next
			next += count
		}
		if next-before == n {
			return true
		}
	}
	return false
}

// scatter moves a part's words and rows to their places.
func scatter[K row, R row](ctx context.Context, c *counters[R], words []K, rows []R, toWords []K, toRows []R, shift uint, size int) error {
	mask := K(size - 1)
	toRows = toRows[:len(toWords)]
	for len(words) > 0 {
		if err := device.Canceled(ctx, "cpu", ""); err != nil {
			return err
		}
		k := min(len(words), 4*morsel)
		some := rows[:k]
		for i, w := range words[:k] {
			place := &c[(w>>shift&mask)&(1<<digit-1)]
			at := *place
			*place = at + 1
			toWords[at] = w
			toRows[at] = some[i]
		}
		words, rows = words[k:], rows[k:]
	}
	return nil
}
