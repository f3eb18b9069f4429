package cpu

import "github.com/volley-go/volley/internal/slots"

// A grouper gives the same number to equal keys, counting from 0 in the order
// in which it meets them. It is a table of one of two kinds: an array with a
// place for every word where words are few, else open addressing with linear
// probing at a load of at most 0.6.
type grouper struct {
	a    *arena
	ks   *keyspace
	same func(i, j uint32) bool // for words that are hashes; nil for exact ones

	insertText func(g *grouper, b *batch) error // for a column of strings
	texts      vec[textKey]                     // of each group

	dense vec[uint32] // group+1 of word&low
	low   uint64

	slots vec[slot]
	mask  uint64
	limit int

	firsts vec[uint32] // the first row of each group; its length is their number
}

type slot struct {
	word  uint64
	first uint32
	id    uint32 // group+1, 0 in a free slot
}

func newGrouper(a *arena, ks *keyspace) *grouper {
	g := &grouper{a: a, ks: ks}
	if !ks.exact {
		g.same, g.insertText = sameKeys(ks, ks), textInserter(ks)
	}
	return g
}

// count is the number of groups so far.
func (g *grouper) count() int { return len(g.firsts.s) }

// resetDense empties the table for words of that many low bits.
func (g *grouper) resetDense(places int, low uint64) error {
	g.low, g.firsts.s = low, g.firsts.s[:0]
	return g.dense.resize(g.a, places)
}

// resetHash empties the table for about n groups.
func (g *grouper) resetHash(n int) error {
	size := 1 << 10
	for size*6/10 < n {
		size *= 2
	}
	size = slots.First(size)
	g.firsts.s, g.mask, g.limit = g.firsts.s[:0], uint64(size-1), size*6/10
	return g.slots.resize(g.a, size)
}

// resetLike empties another table, for the kind of words that g has.
func (g *grouper) resetLike(other *grouper, n int) error {
	if g.dense.b != nil {
		return other.resetDense(len(g.dense.s), g.low)
	}
	return other.resetHash(n)
}

// appendGroup makes the next group, of a first row.
func (g *grouper) appendGroup(row uint32) error {
	n := len(g.firsts.s)
	if n == cap(g.firsts.s) {
		if err := g.firsts.grow(g.a, max(1<<10, 2*n)); err != nil {
			return err
		}
	}
	g.firsts.s = append(g.firsts.s[:n], row)
	return nil
}

// insert finds or makes the group of each row of b.
func (g *grouper) insert(b *batch) error {
	switch {
	case g.dense.b != nil:
		return g.insertDense(b)
	case g.same == nil:
		return g.insertWords(b)
	case g.insertText != nil:
		return g.insertText(g, b)
	default:
		return g.insertHashes(b)
	}
}

func (g *grouper) insertDense(b *batch) error {
	dense, low := g.dense.s, g.low
	ids := b.ids[:b.n]
	for j, w := range b.words[:b.n] {
		place := &dense[w&low]
		if *place == 0 {
			if err := g.appendGroup(b.row(j)); err != nil {
				return err
			}
			*place = uint32(len(g.firsts.s))
		}
		ids[j] = *place - 1
	}
	return nil
}

// heads reads the slot where the search for each word begins, so that reads
// that miss the caches go on side by side: group gets the slot's group+1 where
// it has the word, else 0.
func (g *grouper) heads(b *batch) {
	slots, mask := g.slots.s, g.mask
	heads := b.group[:b.n]
	for j, w := range b.words[:b.n] {
		s := &slots[mix(w)&mask]
		id := s.id
		if s.word != w {
			id = 0
		}
		heads[j] = id
	}
}

func (g *grouper) insertWords(b *batch) error {
	g.heads(b)
	slots, mask := g.slots.s, g.mask
	ids, heads := b.ids[:b.n], b.group[:b.n]
	for j, w := range b.words[:b.n] {
		if heads[j] != 0 {
			ids[j] = heads[j] - 1
			continue
		}
		i := mix(w) & mask
		for {
			s := &slots[i]
			if s.word == w && s.id != 0 {
				ids[j] = s.id - 1
				break
			}
			if s.id == 0 {
				id, err := g.add(s, w, b.row(j))
				if err != nil {
					return err
				}
				ids[j] = id
				slots, mask = g.slots.s, g.mask
				break
			}
			i = (i + 1) & mask
		}
	}
	return nil
}

func (g *grouper) insertHashes(b *batch) error {
	for j, w := range b.words[:b.n] {
		row := b.row(j)
		for i := mix(w) & g.mask; ; i = (i + 1) & g.mask {
			s := &g.slots.s[i]
			if s.word == w && s.id != 0 && (s.first == row || g.same(row, s.first)) {
				b.ids[j] = s.id - 1
				break
			}
			if s.id == 0 {
				id, err := g.add(s, w, row)
				if err != nil {
					return err
				}
				b.ids[j] = id
				break
			}
		}
	}
	return nil
}

// add takes a free slot for a new group, and then makes the table larger if it
// is full.
func (g *grouper) add(s *slot, w uint64, row uint32) (uint32, error) {
	id := uint32(len(g.firsts.s))
	if err := g.appendGroup(row); err != nil {
		return 0, err
	}
	*s = slot{w, row, id + 1}
	if len(g.firsts.s) < g.limit {
		return id, nil
	}
	size := 2 * len(g.slots.s)
	next, err := zeroVec[slot](g.a, size)
	if err != nil {
		return 0, err
	}
	mask := uint64(size - 1)
	for _, s := range g.slots.s {
		if s.id != 0 {
			i := mix(s.word) & mask
			for next.s[i].id != 0 {
				i = (i + 1) & mask
			}
			next.s[i] = s
		}
	}
	g.a.drop(g.slots.b)
	g.slots, g.mask, g.limit = next, mask, size*6/10
	return id, nil
}
