package cpu

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
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

	ranks vec[uint64] // of 32 words each: which are keys, and how many are before
	order vec[uint32] // the row+1 of each rank+1, where rows are not ranks
	among vec[uint64] // as ranks, where it only says which words are keys

	slots  vec[uint64] // where not by an array: tag<<32 | id+1
	whole  bool        // a tag is the word itself
	seekIn             // the same places; a search ends at a free one

	offsets vec[uint32] // where the rows of an id begin, where not unique
	rows    vec[uint32] // which they are, where they are not offsets themselves

	l     *loops
	short *shortTexts // where keys are short texts
}

// plainLoops are those of an index that no loops are given for.
var plainLoops = goLoops()

// newJoinIndex indexes the rows of cols; rows with a null key are left out
// unless nulls are equal.
func newJoinIndex(ctx context.Context, a *arena, cols []*memory.Column, nullsEqual bool) (*joinIndex, error) {
	t := &joinIndex{l: plainLoops, length: cols[0].Len()}
	err := tooLong(t.length)
	if err == nil {
		t.ks, err = newKeyspace(ctx, a, cols, !nullsEqual)
	}
	if err != nil {
		return nil, err
	}
	scratch := a.scratch()
	defer scratch.free()
	if t.ranked() && len(cols) == 1 && t.ks.cols[0].rising {
		return t, t.buildRising(ctx, a)
	}
	if t.ks.card != 0 && t.ks.card <= uint64(2*t.length+1024) && t.ks.card < 1<<32 {
		return t, t.buildDense(ctx, a, scratch)
	}
	if t.ranked() {
		if done, err := t.buildRanks(ctx, a); done || err != nil {
			return t, err
		}
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
	if t.whole {
		return t.start(h), uint32(w)
	}
	return t.start(h), uint32(h)
}

// put writes the rows of an id and says how many there are.
func (t *joinIndex) put(into []uint32, id uint32) int {
	if t.unique {
		into[0] = id
		return 1
	}
	from, to := t.offsets.s[id], t.offsets.s[id+1]
	if t.rows.b != nil {
		return copy(into, t.rows.s[from:to])
	}
	into = into[:to-from]
	for i := range into {
		into[i] = from + uint32(i)
	}
	return len(into)
}

// first is the first row of an id.
func (t *joinIndex) first(id uint32) uint32 {
	if t.unique {
		return id
	}
	if t.rows.b == nil {
		return t.offsets.s[id]
	}
	return t.rows.s[t.offsets.s[id]]
}

// joinFinder looks up the keys of other columns.
type joinFinder struct {
	*joinIndex
	probe *keyspace
	same  func(row, built uint32) bool
	check func(f *joinFinder, b, found *batch) // of a batch's candidates
	rooms batchStash                           // for candidates
	texts *shortFinder                         // where both sides' keys are texts and the built ones short
	near  []uint64                             // the keys, where each is its place in dense or ranks
}

// bind readies the index to be probed with columns of the same types.
func (t *joinIndex) bind(ctx context.Context, a *arena, cols []*memory.Column) (*joinFinder, error) {
	probe, err := t.ks.bind(ctx, a, cols)
	if err != nil {
		return nil, err
	}
	f := &joinFinder{joinIndex: t, probe: probe, same: sameKeys(probe, t.ks)}
	f.check = checker(t.ks)
	f.texts = t.short.bind(cols[0], probe.drop)
	if c := cols[0]; (t.dense.b != nil || t.ranks.b != nil) && len(cols) == 1 && wordInts(c.Type()) && c.Validity() == nil {
		f.near = memory.Values[uint64](c)
	}
	return f, nil
}

// wordInts says that values are integers of 64 bits.
func wordInts(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.INT64, arrow.UINT64, arrow.TIMESTAMP, arrow.DATE64, arrow.TIME64, arrow.DURATION:
		return true
	}
	return false
}

// find puts the id plus 1 of each row of a batch into its ids, 0 where there
// is no such key.
func (f *joinFinder) find(b *batch) {
	if f.texts != nil && f.findTexts(b) {
		return
	}
	if f.near != nil && b.rows == nil {
		k := f.ks.cols[0]
		if f.ranks.b != nil {
			f.findRanks(b.ids[:b.n], f.near[b.from:][:b.n], k.base)
			return
		}
		f.l.place.close(b.ids[:b.n], f.near[b.from:][:b.n], k.base, k.span, f.dense.s)
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
	case f.ranks.b != nil:
		f.findRanks(ids, b.words[:b.n], 0)
	case f.dense.b != nil:
		dense := f.dense.s
		for j, w := range b.words[:b.n] {
			ids[j] = dense[w]
		}
	case f.length == 0:
		clear(ids)
	default:
		f.findAmong(b)
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
	ids, places, tags := b.ids[:n], b.part[:n], b.group[:n]
	words := b.words[:n]
	hashes, marks := words, words
	if f.ks.exact {
		hashes = found.words[:n]
		for j, w := range words {
			hashes[j] = mix(w)
		}
		if !f.whole {
			marks = hashes
		}
	}
	rest := f.l.place.seek(&seekRoom{ids: ids, places: places, tags: tags, rest: found.group[:n]}, &f.seekIn, hashes, marks)
	for _, j := range found.group[:rest] {
		tag, at := tags[j], places[j]+1
		e := slots[at]
		for e != 0 && uint32(e>>32) != tag {
			at++
			e = slots[at]
		}
		ids[j], places[j] = uint32(e), at
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
