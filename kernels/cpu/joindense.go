package cpu

import (
	"context"
	"sync/atomic"
)

// denseBits is the logarithm of the places of an array that a worker fills at a
// time: 256 KiB, which stay in the second-level cache.
const denseBits = 16

// buildDense makes an array over all words. Rows are first partitioned by ranges
// of words, so that each range is filled in the cache. Where a word comes twice
// the array says instead where the rows of each word begin.
func (t *joinIndex) buildDense(ctx context.Context, a, scratch *arena) error {
	card, shift := int(t.ks.card), uint(denseBits)
	for (card-1)>>shift >= mostParts {
		shift++
	}
	p, err := partKeys(ctx, scratch, t.ks, t.length, (card-1)>>shift+1, true,
		func(words []uint64, parts []uint32) {
			for j, w := range words {
				parts[j] = uint32(w >> shift)
			}
		})
	if err != nil {
		return err
	}
	places, err := newVec[uint32](a, card+1)
	if err != nil {
		return err
	}
	each := func(f func(part int, region []uint32, base uint64) error) error {
		return tasks(ctx, p.parts, func(_, part int) error {
			base := part << shift
			region := places.s[base:min(base+1<<shift, card)]
			clear(region)
			return f(part, region, uint64(base))
		})
	}
	var repeated atomic.Bool
	err = each(func(part int, region []uint32, base uint64) error {
		before := uint32(0)
		err := p.each(ctx, part, func(entries []uint64, _ []uint32) {
			for _, e := range entries {
				at := &region[e>>32-base]
				before |= *at
				*at = uint32(e) + 1
			}
		})
		if before != 0 {
			repeated.Store(true)
		}
		return err
	})
	if err != nil {
		return err
	}
	if !repeated.Load() {
		t.dense, t.unique, t.n = places, true, t.length
		return nil
	}
	if t.rows, err = newVec[uint32](a, p.kept()); err != nil {
		return err
	}
	t.offsets, t.direct, t.n = places, true, int64(card)
	t.offsets.s[card] = uint32(p.kept())
	return each(func(part int, region []uint32, base uint64) error {
		err := p.each(ctx, part, func(entries []uint64, _ []uint32) {
			for _, e := range entries {
				region[e>>32-base]++
			}
		})
		if err != nil {
			return err
		}
		ends(region, uint32(p.starts[part]))
		return p.eachBack(ctx, part, func(entries []uint64, _ []uint32) {
			for i := len(entries) - 1; i >= 0; i-- {
				e := entries[i]
				at := &region[e>>32-base]
				*at--
				t.rows.s[*at] = uint32(e)
			}
		})
	})
}

// ends turns counts into where what was counted ends, when it begins at from.
func ends(counts []uint32, from uint32) {
	for i, k := range counts {
		from += k
		counts[i] = from
	}
}
