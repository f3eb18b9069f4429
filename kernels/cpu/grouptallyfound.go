package cpu

import (
	"slices"
	"sync/atomic"
)

// Records of hashes have no bit to spare for their rows. Where first rows are
// wanted, a table keeps the place of a group's first record among all of a round
// instead. In what is grouped here each group has many rows, so that most groups
// appear early, and few chunks of rows have a first row in them. Only these are
// read again, and the row of each record is written to its place.

// foldFirsts is foldRecords where first rows are wanted; at is the place of the
// first of the records.
func (h *tallyTable[S]) foldFirsts(a *arena, b *tallyBatch[S], records []tallyRecord, skip uint, at uint32) error {
	if cap(h.firsts.s) < h.used+len(records) {
		if err := h.firsts.grow(a, 2*h.used+len(records)); err != nil {
			return err
		}
	}
	h.firsts.s = h.firsts.s[:cap(h.firsts.s)]
	slots, shift, mask := h.slots.s, h.shift, uint64(len(h.slots.s)-1)
	if len(slots) <= nearSlots {
		for j := range records {
			r := &records[j]
			i := r.word << (skip & 63) >> (shift & 63)
			s := &slots[i&mask]
			if s.word != r.word || s.counts == 0 {
				s = h.findFirst(i, r.word, at+uint32(j))
			}
			s.sum += valueOf[S](r.value)
			s.counts += oneRow
		}
		return nil
	}
	h.look(b, records, skip, 0)
	for j := 0; j < len(records); j++ {
		for ; j < len(records); j++ { // without a call for a row
			r := &records[j]
			s := &slots[uint64(b.heads[j&(tallyStep-1)])&mask]
			if s.word != r.word || s.counts == 0 {
				break
			}
			s.sum += valueOf[S](r.value)
			s.counts += oneRow
		}
		if j < len(records) {
			r := &records[j]
			s := h.findFirst(r.word<<(skip&63)>>(shift&63), r.word, at+uint32(j))
			s.sum += valueOf[S](r.value)
			s.counts += oneRow
		}
	}
	return nil
}

// findFirst is find that notes a new group's first record.
func (h *tallyTable[S]) findFirst(i, word uint64, at uint32) *tallySlot[S] {
	s := h.find(i, word)
	if s.counts == 0 {
		s.counts = uint64(h.used-1) << 32
		h.firsts.s[h.used-1] = at
	}
	return s
}

// findFirsts finds the first rows of the groups that appeared in the round of
// rows from to to, which was written and folded; rows is room that stays.
func (p *tallyParts[S]) findFirsts(tables []tallyTable[S], rows *vec[uint32], from, to int64) (err error) {
	var chunks atomic.Uint64 // a bit for each that has a first row
	found := make([]bool, p.parts)
	err = tasks(p.ctx, p.parts, func(_, part int) error {
		h, c, has := &tables[part], 0, uint64(0)
		for _, at := range h.firsts.s[h.known:h.used] {
			for at >= p.counts.s[c*p.parts+part] {
				c++
			}
			has |= 1 << c
		}
		chunks.Or(has)
		found[part] = has != 0
		return nil
	})
	if err != nil || !slices.Contains(found, true) {
		return err
	}
	if cap(rows.s) < p.ends[p.parts-1] {
		p.a.drop(rows.b)
		if *rows, err = newVec[uint32](p.a, p.ends[p.parts-1]); err != nil {
			return err
		}
	}
	values := p.values
	p.values = nil // keys alone
	err = p.eachChunk(from, to, int64(p.chunks), func(c int) (tallyFold[S], error) {
		if chunks.Load()>>c&1 == 0 {
			return nil, nil
		}
		next := make([]uint32, p.parts)
		for part := range next {
			if next[part] = uint32(p.ends[part] - p.sizes[part]); c > 0 {
				next[part] = p.counts.s[(c-1)*p.parts+part]
			}
		}
		return func(b *tallyBatch[S], words []uint64, _ []S, _ []uint64) error {
			numbers, base, back := p.numbers(b)[:len(words)], p.base, p.back
			for j, w := range words {
				at := &next[hashWord(w-base, 0)>>(back&63)]
				rows.s[*at] = numbers[j]
				*at++
			}
			return nil
		}, nil
	})
	p.values = values
	if err != nil {
		return err
	}
	return tasks(p.ctx, p.parts, func(_, part int) error {
		h := &tables[part]
		for i, at := range h.firsts.s[h.known:h.used] {
			h.firsts.s[h.known+i] = rows.s[at]
		}
		h.known = h.used
		return nil
	})
}
