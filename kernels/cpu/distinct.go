package cpu

import (
	"context"
	"math"
	"math/bits"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/slots"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

const (
	partWords     = 1 << 14 // of a part of distinct values, whose table stays in the second cache
	mostWordParts = 1 << 11
	flagsARow     = 32 // a bitmap of codes has up to so many bits a row
	distinctOf    = 64 // as many pieces of rows are cut into parts side by side
)

// countDistinct counts the distinct values of a column that has some. Values of
// up to 64 bits are the words that sort orders them by: few bits are marked in a
// bitmap, more are cut by their hashes into parts that have tables of their own.
// Others are grouped.
func countDistinct(ctx context.Context, l *loops, s device.Stream, c *memory.Column, valid int64) (int64, error) {
	if kernels.BinaryTypes.Has(c.Type().ID()) && c.Len() <= math.MaxUint32 {
		return distinctGroups(ctx, l, s, c)
	}
	levels, err := plan[uint64](ctx, l, s, []kernels.SortKey{{Values: c}})
	switch {
	case err != nil:
		return 0, err
	case len(levels) == 0: // all rows are equal
		return 1, nil
	case len(levels) > 1 || levels[0].text != nil:
		return distinctSorted(ctx, l, s, c, levels)
	}
	a := newArena(s)
	defer a.free()
	d := &distinctWords{ctx: ctx, a: a, level: &levels[0], rows: c.Len()}
	n, err := d.count()
	if valid < c.Len() { // nulls have a word too
		n--
	}
	return n, err
}

// distinctGroups counts the groups of a column's values.
func distinctGroups(ctx context.Context, l *loops, s device.Stream, c *memory.Column) (int64, error) {
	g, err := l.groupBy(ctx, s, []*memory.Column{c}, nil, kernels.GroupOptions{DropNullKeys: true, AnyOrder: true})
	if err != nil {
		return 0, err
	}
	defer g.Release()
	return g.First.Len(), nil
}

// distinctWords counts the distinct words of a level.
type distinctWords struct {
	ctx   context.Context
	a     *arena
	level *level[uint64]
	rows  int64
}

func (d *distinctWords) count() (int64, error) {
	if b := d.level.bits; b < 48 && int64(1)<<b <= max(1<<16, flagsARow*d.rows) {
		return d.marked(int64(1) << b)
	}
	return d.hashed()
}

// blocks calls f with the words of rows [from, to), some at a time.
func (d *distinctWords) blocks(from, to int64, f func(words []uint64)) error {
	var dst, raw [block]uint64
	for k := 0; from < to; from += block {
		if k++; k%64 == 0 {
			if err := device.Canceled(d.ctx, "cpu", ""); err != nil {
				return err
			}
		}
		w := dst[:min(block, to-from)]
		d.level.fill(w, raw[:len(w)], nil, from, 0)
		f(w)
	}
	return nil
}

// marked counts words that are less than places in a bitmap of all of them.
func (d *distinctWords) marked(places int64) (int64, error) {
	flags, err := zeroVec[uint64](d.a, int((places+63)/64))
	if err != nil {
		return 0, err
	}
	err = parallel(d.ctx, d.rows, func(_ int, s span) error {
		return d.blocks(s.from, s.to, func(words []uint64) {
			for _, w := range words {
				at, bit := &flags.s[w>>6], uint64(1)<<(w&63)
				if atomic.LoadUint64(at)&bit == 0 {
					atomic.OrUint64(at, bit)
				}
			}
		})
	})
	n := 0
	for _, w := range flags.s {
		n += bits.OnesCount64(w)
	}
	return int64(n), err
}

// hashed counts words part by part.
func (d *distinctWords) hashed() (int64, error) {
	up := uint(bits.Len64(uint64(min(mostWordParts, d.rows/partWords))))
	parts, pieces := int64(1)<<up, int64(min(distinctOf, morsels(d.rows)))
	size := (d.rows + pieces - 1) / pieces
	words, err := newVec[uint64](d.a, int(d.rows))
	if err != nil {
		return 0, err
	}
	ends, err := zeroVec[int64](d.a, int(parts*pieces)) // of a part the pieces' next places
	if err != nil {
		return 0, err
	}
	each := func(f func(piece int64, words []uint64)) error {
		return tasks(d.ctx, int(pieces), func(_, piece int) error {
			from := min(int64(piece)*size, d.rows)
			return d.blocks(from, min(from+size, d.rows), func(words []uint64) { f(int64(piece), words) })
		})
	}
	err = each(func(piece int64, w []uint64) {
		counts := ends.s[piece*parts:][:parts]
		for _, x := range w {
			counts[mix(x)>>(64-up)]++
		}
	})
	if err != nil {
		return 0, err
	}
	at := int64(0)
	for part := range parts {
		for piece := range pieces {
			p := &ends.s[piece*parts+part]
			at, *p = at+*p, at
		}
	}
	err = each(func(piece int64, w []uint64) {
		next := ends.s[piece*parts:][:parts]
		for _, x := range w {
			p := &next[mix(x)>>(64-up)]
			words.s[*p] = x
			*p++
		}
	})
	if err != nil {
		return 0, err
	}
	return d.countParts(words.s, ends.s[(pieces-1)*parts:])
}

// countParts counts the distinct words of parts that end at the given places.
func (d *distinctWords) countParts(words []uint64, ends []int64) (int64, error) {
	var n atomic.Int64
	all := stash[*wordSet]{make: func() (*wordSet, error) { return &wordSet{arena: d.a}, nil }}
	err := tasks(d.ctx, len(ends), func(_, part int) error {
		from := int64(0)
		if part > 0 {
			from = ends[part-1]
		}
		set, err := all.get()
		if err != nil {
			return err
		}
		defer all.put(set)
		if err := set.reset(); err != nil {
			return err
		}
		for rest := words[from:ends[part]]; len(rest) > 0; {
			if err := device.Canceled(d.ctx, "cpu", ""); err != nil {
				return err
			}
			some := rest[:min(partWords, len(rest))]
			if err := set.add(some); err != nil {
				return err
			}
			rest = rest[len(some):]
		}
		n.Add(int64(set.used))
		return nil
	})
	return n.Load(), err
}

// wordSet is a set of words. A free slot has the word 0, which is told apart.
type wordSet struct {
	arena *arena
	slots vec[uint64]
	used  int
	zero  bool
}

// reset makes the set empty, with the least table.
func (h *wordSet) reset() error {
	h.used, h.zero = 0, false
	return h.slots.resize(h.arena, slots.First(4*partWords))
}

// add puts words in, as many as fill a quarter of the least table at most, but in tests.
func (h *wordSet) add(words []uint64) error {
	for 2*(h.used+len(words)) > len(h.slots.s) {
		if err := h.grow(); err != nil {
			return err
		}
	}
	used, slots, mask := h.used, h.slots.s, uint64(len(h.slots.s)-1)
	for _, w := range words {
		if w == 0 {
			if !h.zero {
				h.zero = true
				used++
			}
			continue
		}
		i := mix(w) & mask
		for slots[i] != 0 && slots[i] != w {
			i = (i + 1) & mask
		}
		if slots[i] == 0 {
			slots[i] = w
			used++
		}
	}
	h.used = used
	return nil
}

// grow doubles the table.
func (h *wordSet) grow() error {
	old := h.slots
	larger, err := zeroVec[uint64](h.arena, 2*len(old.s))
	if err != nil {
		return err
	}
	mask := uint64(len(larger.s) - 1)
	for _, w := range old.s {
		if w != 0 {
			i := mix(w) & mask
			for larger.s[i] != 0 {
				i = (i + 1) & mask
			}
			larger.s[i] = w
		}
	}
	h.slots = larger
	h.arena.drop(old.b)
	return nil
}

// distinctSorted sorts the column and counts where its values change.
func distinctSorted(ctx context.Context, l *loops, s device.Stream, c *memory.Column, levels []level[uint64]) (int64, error) {
	n := c.Len()
	room, err := memory.New(s.Device().Memory(), 8*n)
	if err != nil {
		return 0, err
	}
	defer room.Release()
	rows := memory.View[uint64](room)
	if err := sortRows(ctx, l, s, levels, rows, false); err != nil {
		return 0, err
	}
	var changes atomic.Int64
	err = parallel(ctx, n, func(_ int, s span) error {
		k := int64(0)
		for i := s.from; i < s.to; i++ {
			switch {
			case isNull(c, int64(rows[i])):
			case i == 0:
				k++
			default:
				for l := range levels {
					if levels[l].compare(rows[i-1], rows[i]) != 0 {
						k++
						break
					}
				}
			}
		}
		changes.Add(k)
		return nil
	})
	return changes.Load(), err
}
