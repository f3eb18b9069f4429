package cpu

import (
	"context"
	"math/bits"

	"github.com/volley-go/volley/memory"
)

// joinIndex finds rows by key. Each distinct key has an id: its row where no
// key comes twice, else a number, under which its rows lie side by side in
// rising order. Words lead to ids by an array where they are few, else by open
// addressing: a place holds 32 bits of the word or its hash and the id plus 1.
// Places are cut into regions by the first bits of the hash, so that a region
// and the keys that belong there are made by one worker in its cache.
type joinIndex struct {
	ks     *keyspace
	length int64 // rows
	n      int64 // ids are below it
	unique bool

	dense  vec[uint32] // id+1 of each word, where unique
	direct bool        // not unique, and the id is the word

	slots  vec[uint64] // tag<<32 | id+1
	whole  bool        // a tag is the word itself
	cut    uint        // bits of a region's number
	region uint64      // places of a region where a search may begin
	stride uint64      // and all of them: a search ends at a free one

	offsets vec[uint32] // where the rows of an id begin, where not unique
	rows    vec[uint32]

	short *shortTexts // where keys are short texts
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
	if t.ks.card != 0 && t.ks.card <= uint64(2*t.length+1024) && t.ks.card < 1<<32 {
		return t, t.buildDense(ctx, a, scratch)
	}
	return t, t.buildHashed(ctx, a, scratch)
}

// hash is that of a word, which is one where it is not exact.
func (t *joinIndex) hash(w uint64) uint64 {
	if t.ks.exact {
		return mix(w)
	}
	return w
}

// hashed gives the place where the search for a word begins, and its tag.
func (t *joinIndex) hashed(w uint64) (at uint64, tag uint32) {
	h := t.hash(w)
	at, _ = bits.Mul64(h<<(t.cut&63), t.region)
	at += h >> (64 - t.cut) * t.stride
	if t.whole {
		return at, uint32(w)
	}
	return at, uint32(h)
}

// of gives the rows of an id; the array is used where it is the row itself.
func (t *joinIndex) of(id uint32, one *[1]uint32) []uint32 {
	if t.unique {
		one[0] = id
		return one[:]
	}
	return t.rows.s[t.offsets.s[id]:t.offsets.s[id+1]]
}

// first is the first row of an id.
func (t *joinIndex) first(id uint32) uint32 {
	if t.unique {
		return id
	}
	return t.rows.s[t.offsets.s[id]]
}

// joinFinder looks up the keys of other columns.
type joinFinder struct {
	*joinIndex
	probe *keyspace
	same  func(row, built uint32) bool
	check func(f *joinFinder, b, found *batch) // of a batch's candidates
	rooms stash[*batch]                        // for candidates
	texts *shortFinder                         // where both sides' keys are texts and the built ones short
}

// bind readies the index to be probed with columns of the same types.
func (t *joinIndex) bind(ctx context.Context, a *arena, cols []*memory.Column) (*joinFinder, error) {
	probe, err := t.ks.bind(ctx, a, cols)
	if err != nil {
		return nil, err
	}
	f := &joinFinder{joinIndex: t, probe: probe, same: sameKeys(probe, t.ks)}
	f.check = checker(t.ks)
	f.rooms.make = func() (*batch, error) { return new(batch), nil }
	f.texts = t.short.bind(cols[0], probe.drop)
	return f, nil
}

// find puts the id plus 1 of each row of a batch into its ids, 0 where there
// is no such key.
func (f *joinFinder) find(b *batch) {
	if f.texts != nil && f.findTexts(b) {
		return
	}
	skips := f.probe.fill(b)
	ids := b.ids[:b.n]
	switch {
	case f.direct:
		offsets := f.offsets.s
		for j, w := range b.words[:b.n] {
			id := uint32(0)
			if offsets[w] != offsets[w+1] {
				id = uint32(w) + 1
			}
			ids[j] = id
		}
	case f.dense.b != nil:
		dense := f.dense.s
		for j, w := range b.words[:b.n] {
			ids[j] = dense[w]
		}
	case f.length == 0:
		clear(ids)
	default:
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

// findHashed goes over a batch step by step, so that the reads of a step, each
// of which misses the caches, go on side by side: the places where searches
// begin and the two behind, others with the right tag, the rows that these stand for,
// and their keys.
func (f *joinFinder) findHashed(b *batch) {
	found, _ := f.rooms.get()
	defer f.rooms.put(found)
	f.seek(b, found)
	if f.whole {
		return
	}
	found.gather(f.candidates(b, found))
	f.check(f, b, found)
}

// seek finds the places with the right tags of a batch's words.
func (f *joinFinder) seek(b, found *batch) {
	slots, n := f.slots.s, b.n
	ids, places, tags, entries := b.ids[:n], b.part[:n], b.group[:n], found.part[:n]
	for j, w := range b.words[:n] { // the right one of three places, without a branch
		at, tag := f.hashed(w)
		first, second, e := slots[at], slots[at+1], slots[at+2]
		place := at + 2
		if uint32(second>>32) == tag {
			e, place = second, at+1
		}
		if uint32(first>>32) == tag {
			e, place = first, at
		}
		if first == 0 {
			e = 0
		}
		places[j], tags[j], entries[j] = place, tag, e
	}
	for j, e := range entries {
		if tag := tags[j]; e != 0 && uint32(e>>32) != tag {
			at := places[j]
			for e != 0 && uint32(e>>32) != tag {
				at++
				e = slots[at]
			}
			places[j] = at
		}
		ids[j] = uint32(e)
	}
}

// candidates are the first rows of the ids that a batch found.
func (f *joinFinder) candidates(b, found *batch) []uint32 {
	ids, firsts := b.ids[:b.n], found.own[:b.n]
	if f.unique {
		for j, id := range ids {
			firsts[j] = max(id, 1) - 1
		}
	} else {
		for j, id := range ids {
			firsts[j] = f.offsets.s[max(id, 1)-1]
		}
		for j, at := range firsts {
			firsts[j] = f.rows.s[min(int(at), len(f.rows.s)-1)]
		}
	}
	return firsts
}

// again goes on with the search of row j of a batch behind a place with the
// right tag and the wrong key.
func (f *joinFinder) again(b *batch, j int) {
	slots, tag := f.slots.s, b.group[j]
	for at := b.part[j] + 1; ; at++ {
		e := slots[at]
		if e == 0 || uint32(e>>32) == tag && f.same(b.row(j), f.first(uint32(e)-1)) {
			b.ids[j] = uint32(e)
			return
		}
	}
}

// checker is how candidates are held against the rows that found them.
func checker(ks *keyspace) func(f *joinFinder, b, found *batch) {
	if ks.exact {
		return checkWords
	}
	if len(ks.cols) == 1 {
		if check := textChecker(ks.cols[0].c); check != nil {
			return check
		}
	}
	return checkRows
}

// checkWords makes the words of candidates, which are exact, and compares them.
func checkWords(f *joinFinder, b, found *batch) {
	f.ks.fill(found)
	words := found.words[:b.n]
	for j, w := range b.words[:b.n] {
		if words[j] != w && b.ids[j] != 0 {
			f.again(b, j)
		}
	}
}

func checkRows(f *joinFinder, b, found *batch) {
	for j, id := range b.ids[:b.n] {
		if id != 0 && !f.same(b.row(j), found.rows[j]) {
			f.again(b, j)
		}
	}
}
