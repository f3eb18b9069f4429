package cpu

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/memory"
)

// joinIndex finds rows by key. Each distinct key has an id: its row where no
// key comes twice, else its number, under which its rows lie side by side in
// rising order. Words lead to ids by an array where they are few, else by open
// addressing: a place holds 32 bits of the word or its hash and the id plus 1,
// at a load of 0.6. The place goes by the high bits of the hash.
type joinIndex struct {
	ks     *keyspace
	length int64 // rows
	n      int64 // ids are below it
	unique bool

	dense vec[uint32] // id+1 of each word
	slots vec[uint64] // tag<<32 | id+1
	whole bool        // a tag is the word itself

	offsets vec[uint32] // where the rows of an id begin, where not unique
	rows    vec[uint32]
}

// newJoinIndex indexes the rows of cols; rows with a null key are left out
// unless nulls are equal.
func newJoinIndex(ctx context.Context, a *arena, cols []*memory.Column, nullsEqual bool) (*joinIndex, error) {
	t := &joinIndex{length: cols[0].Len()}
	err := tooLong(t.length)
	if err == nil {
		t.ks, err = newKeyspace(ctx, a, cols, !nullsEqual)
	}
	if err != nil {
		return nil, err
	}
	scratch := a.scratch()
	defer scratch.free()
	ids, firsts, err := groupingOf(ctx, scratch, t.ks, t.length).numbers()
	if err != nil {
		return nil, err
	}
	kept := t.length
	if t.ks.drop {
		for _, id := range ids.s {
			if id == dropped {
				kept--
			}
		}
	}
	t.n = int64(len(firsts.s))
	if t.unique = t.n == kept; t.unique {
		t.n = t.length
		scratch.drop(ids.b)
	} else if err := t.sortRows(ctx, a, ids.s); err != nil {
		return nil, err
	} else {
		scratch.drop(ids.b)
	}
	return t, t.insert(ctx, a, firsts.s)
}

// sortRows puts the rows of each id side by side.
func (t *joinIndex) sortRows(ctx context.Context, a *arena, ids []uint32) (err error) {
	if t.offsets, err = zeroVec[uint32](a, int(t.n)+2); err != nil {
		return err
	}
	if t.rows, err = newVec[uint32](a, len(ids)); err != nil {
		return err
	}
	at := t.offsets.s[1:] // at[id+1] counts, then at[id] is where the next row goes
	for _, id := range ids {
		if id != dropped {
			at[id+1]++
		}
	}
	for id := range t.n {
		at[id+1] += at[id]
	}
	for row, id := range ids {
		if row%morsel == 0 {
			if err := device.Canceled(ctx, "cpu", ""); err != nil {
				return err
			}
		}
		if id != dropped {
			t.rows.s[at[id]] = uint32(row)
			at[id]++
		}
	}
	return nil
}

// insert fills the table with the first row of each key. No key comes twice,
// so that workers only have to agree on who takes a free place.
func (t *joinIndex) insert(ctx context.Context, a *arena, firsts []uint32) (err error) {
	if t.ks.card != 0 && t.ks.card <= uint64(2*t.length+1024) {
		t.dense, err = zeroVec[uint32](a, int(t.ks.card))
	} else {
		t.whole = t.ks.exact && t.ks.width <= 32
		t.slots, err = zeroVec[uint64](a, len(firsts)*5/3+8)
	}
	if err != nil {
		return err
	}
	all := stash[*batch]{make: func() (*batch, error) { return new(batch), nil }}
	return parallel(ctx, int64(len(firsts)), func(_ int, s span) error {
		b, _ := all.get()
		defer all.put(b)
		for from := s.from; from < s.to; from += batchRows {
			rows := firsts[from:min(from+batchRows, s.to)]
			b.gather(rows)
			t.ks.fill(b)
			for j, w := range b.words[:b.n] {
				id := uint32(from) + uint32(j) + 1
				if t.unique {
					id = rows[j] + 1
				}
				if t.dense.b != nil {
					t.dense.s[w] = id
				} else {
					t.place(w, id)
				}
			}
		}
		return nil
	})
}

// hashed gives the place where the search for a word begins, and its tag.
func (t *joinIndex) hashed(w uint64) (at uint64, tag uint32) {
	h := mix(w)
	at, _ = bits.Mul64(h, uint64(len(t.slots.s)))
	if t.whole {
		return at, uint32(w)
	}
	return at, uint32(h)
}

func (t *joinIndex) place(w uint64, id uint32) {
	at, tag := t.hashed(w)
	entry := uint64(tag)<<32 | uint64(id)
	for !atomic.CompareAndSwapUint64(&t.slots.s[at], 0, entry) {
		if at++; at == uint64(len(t.slots.s)) {
			at = 0
		}
	}
}

// of gives the rows of an id; the array is used where it is the row itself.
func (t *joinIndex) of(id uint32, one *[1]uint32) []uint32 {
	if t.unique {
		one[0] = id
		return one[:]
	}
	return t.rows.s[t.offsets.s[id]:t.offsets.s[id+1]]
}

// joinFinder looks up the keys of other columns.
type joinFinder struct {
	*joinIndex
	probe *keyspace
	same  func(row, built uint32) bool
}

// bind readies the index to be probed with columns of the same types.
func (t *joinIndex) bind(ctx context.Context, a *arena, cols []*memory.Column) (*joinFinder, error) {
	probe, err := t.ks.bind(ctx, a, cols)
	if err != nil {
		return nil, err
	}
	return &joinFinder{t, probe, sameKeys(probe, t.ks)}, nil
}

// find puts the id plus 1 of each row of a batch into its ids, 0 where there
// is no such key.
func (f *joinFinder) find(b *batch) {
	skips := f.probe.fill(b)
	ids := b.ids[:b.n]
	if f.dense.b != nil {
		dense := f.dense.s
		for j, w := range b.words[:b.n] {
			ids[j] = dense[w]
		}
	} else {
		f.findHashed(b)
	}
	if skips {
		for j := range ids {
			if b.skip[j] {
				ids[j] = 0
			}
		}
	}
}

// findHashed first reads the place where each search begins, so that these
// reads, which miss the caches, go on side by side, and then ends each search.
func (f *joinFinder) findHashed(b *batch) {
	slots, n := f.slots.s, b.n
	places, tags, entries := b.words[:n], b.group[:n], b.part[:n]
	for j, w := range places {
		at, tag := f.hashed(w)
		places[j], tags[j], entries[j] = at, tag, slots[at]
	}
	for j, e := range entries {
		at := places[j]
		for e != 0 && (uint32(e>>32) != tags[j] || !f.whole && !f.same(b.row(j), f.first(uint32(e)-1))) {
			if at++; at == uint64(len(slots)) {
				at = 0
			}
			e = slots[at]
		}
		b.ids[j] = uint32(e)
	}
}

// first is the first row of an id.
func (t *joinIndex) first(id uint32) uint32 {
	if t.unique {
		return id
	}
	return t.rows.s[t.offsets.s[id]]
}
