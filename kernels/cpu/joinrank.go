package cpu

import (
	"context"
	"math/bits"
	"sort"
	"sync/atomic"

	"github.com/volley-go/volley/memory"
)

// An index by ranks has a bit for each word that a key may be, and for each 32 of them
// how many keys lie before: a quarter of a byte a word, where an array has four. A
// key's id is its rank. Where keys rise with their rows, as those of a table in the
// order of its key do whatever was filtered, the rank of a key that comes once is its
// row, rows of a key that comes again lie side by side, and all is written in a pass
// or two, in order. Other keys that come once have their rows listed by rank; where
// they come again, the bits alone tell a search which keys need not be looked for.

const (
	// rankSpan is how many words there may be for each row: 16 bytes of bits and ranks,
	// as many as a table of places takes.
	rankSpan = 64
	// rankLeast is up to how many words it does not matter how few the rows are: what a
	// join is built of is little against what it is probed with, and 512 KiB of bits are
	// zeroed while ten thousand rows are hashed.
	rankLeast = 1 << 21
	// rankBits is how many words share an entry.
	rankBits = 32
)

// ranked says whether words are close enough for an index by ranks.
func (t *joinIndex) ranked() bool {
	return t.ks.card != 0 && t.length > 0 && t.ks.card <= max(rankSpan*uint64(t.length), rankLeast)
}

// newRanks makes room for the entries of all words.
func (t *joinIndex) newRanks(a *arena) (err error) {
	t.ranks, err = newVec[uint64](a, int(t.ks.card/rankBits+1))
	return err
}

// rankWords are the words of up to batchRows rows from a row on, and what they count
// from: of integers of 64 bits the values themselves.
func (t *joinIndex) rankWords(b *batch, from int64, n int) (words []uint64, base uint64) {
	k := t.ks.cols[0]
	if wordInts(k.c.Type()) {
		return memory.Values[uint64](k.c)[from:][:n], k.base
	}
	b.span(from, n)
	t.ks.fill(b)
	return b.words[:n], 0
}

// wordOf is the word of one row.
func (t *joinIndex) wordOf(b *batch, row int64) uint64 {
	words, base := t.rankWords(b, row, 1)
	return words[0] - base
}

// buildRising makes the index of rising keys, none of them null.
func (t *joinIndex) buildRising(ctx context.Context, a *arena) error {
	if err := t.newRanks(a); err != nil {
		return err
	}
	rooms := batchStash{}
	each := func(f func(b *batch, s span)) error {
		return parallel(ctx, t.length, func(_ int, s span) error {
			b, _ := rooms.get()
			defer rooms.put(b)
			f(b, s)
			return nil
		})
	}
	err := each(t.markRising)
	if err != nil {
		return err
	}
	if t.n, err = t.sumRanks(ctx); err != nil {
		return err
	}
	if t.unique = t.n == t.length; t.unique {
		return nil
	}
	if t.offsets, err = newVec[uint32](a, int(t.n)+1); err != nil {
		return err
	}
	t.offsets.s[t.n] = uint32(t.length)
	return each(t.listRising)
}

// begin is the first row from a row on whose entry begins there. Keys may come any
// number of times: it is searched by halves.
func (t *joinIndex) begin(b *batch, row int64) int64 {
	if row == 0 || row == t.length {
		return row
	}
	entry := t.wordOf(b, row-1) / rankBits
	return row + int64(sort.Search(int(t.length-row), func(i int) bool { return t.wordOf(b, row+int64(i))/rankBits > entry }))
}

// markRising sets the bits of the entries that begin in a morsel.
func (t *joinIndex) markRising(b *batch, s span) {
	from, to := t.begin(b, s.from), t.begin(b, s.to)
	if from == to {
		return
	}
	at, end := uint64(0), uint64(len(t.ranks.s))
	if from > 0 {
		at = t.wordOf(b, from-1)/rankBits + 1
	}
	if to < t.length {
		end = t.wordOf(b, to-1)/rankBits + 1
	}
	entries := t.ranks.s
	clear(entries[at:end])
	for ; from < to; from += batchRows {
		words, base := t.rankWords(b, from, int(min(batchRows, to-from)))
		for _, v := range words {
			entries[(v-base)/rankBits] |= 1 << ((v - base) % rankBits)
		}
	}
}

// sumRanks writes above the bits of entries how many are set before, and says how many
// there are.
func (t *joinIndex) sumRanks(ctx context.Context) (int64, error) {
	entries := t.ranks.s
	sums := make([]int64, morsels(int64(len(entries))))
	err := parallel(ctx, int64(len(entries)), func(_ int, s span) error {
		for _, e := range entries[s.from:s.to] {
			sums[s.index] += int64(bits.OnesCount64(e))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	for i, keys := range sums {
		sums[i] = sum
		sum += keys
	}
	return sum, parallel(ctx, int64(len(entries)), func(_ int, s span) error {
		before := uint64(sums[s.index])
		for i, e := range entries[s.from:s.to] {
			entries[s.from+int64(i)] = e | before<<32
			before += uint64(bits.OnesCount64(e))
		}
		return nil
	})
}

// listRising writes where the rows of the keys begin that come in a morsel for the
// first time.
func (t *joinIndex) listRising(b *batch, s span) {
	var firsts [batchRows]uint32
	id, before := uint32(0), uint64(0) // keys before, and the last of them
	if s.from > 0 {
		var last [1]uint32
		before = t.wordOf(b, s.from-1)
		rankPlaces(last[:], []uint64{before}, 0, t.ks.card, t.ranks.s)
		id = last[0]
	} else {
		before = ^t.wordOf(b, 0)
	}
	for from := s.from; from < s.to; from += batchRows {
		words, base := t.rankWords(b, from, int(min(batchRows, s.to-from)))
		k := uint64(0)
		for j, v := range words {
			v -= base
			firsts[k] = uint32(from) + uint32(j)
			differs := v ^ before
			k += (differs | -differs) >> 63
			before = v
		}
		id += uint32(copy(t.offsets.s[id:], firsts[:k]))
	}
}

// buildRanks makes the index of keys in any order. It is not done where one comes
// twice: the bits are then t.among.
func (t *joinIndex) buildRanks(ctx context.Context, a *arena) (done bool, err error) {
	if err := t.newRanks(a); err != nil {
		return false, err
	}
	entries := t.ranks.s
	err = parallel(ctx, int64(len(entries)), func(_ int, s span) error {
		clear(entries[s.from:s.to])
		return nil
	})
	if err != nil {
		return false, err
	}
	rooms := batchStash{}
	each := func(f func(b *batch)) error {
		return parallel(ctx, t.length, func(_ int, s span) error {
			b, _ := rooms.get()
			defer rooms.put(b)
			return batches(b, s.from, s.to, func() error {
				if t.ks.fill(b) {
					b.compact()
				}
				f(b)
				return nil
			})
		})
	}
	var kept atomic.Int64
	err = each(func(b *batch) {
		kept.Add(int64(b.n))
		for _, w := range b.words[:b.n] {
			if e, bit := &entries[w/rankBits], uint64(1)<<(w%rankBits); atomic.LoadUint64(e)&bit == 0 {
				atomic.OrUint64(e, bit)
			}
		}
	})
	if err != nil {
		return false, err
	}
	keys, err := t.sumRanks(ctx)
	if err != nil {
		return false, err
	}
	if keys != kept.Load() {
		t.among, t.ranks = t.ranks, vec[uint64]{}
		return false, nil
	}
	if t.order, err = newVec[uint32](a, int(keys)+1); err != nil {
		return false, err
	}
	t.n, t.unique = t.length, true
	t.order.s[0] = 0
	return true, each(func(b *batch) {
		rankPlaces(b.ids[:b.n], b.words[:b.n], 0, t.ks.card, entries)
		for j, id := range b.ids[:b.n] {
			t.order.s[id] = b.row(j) + 1
		}
	})
}

// findRanks is find in an index by ranks.
func (f *joinFinder) findRanks(ids []uint32, values []uint64, base uint64) {
	f.l.place.rank(ids, values, base, f.ks.card, f.ranks.s)
	if f.order.b != nil {
		order := f.order.s
		for j, id := range ids {
			ids[j] = order[id]
		}
	}
}

// findAmong is findHashed of those rows of a batch whose keys may be there, where they
// are few.
func (f *joinFinder) findAmong(b *batch) {
	if f.among.b == nil {
		f.findHashed(b)
		return
	}
	few, _ := f.rooms.get()
	defer f.rooms.put(few)
	entries, k := f.among.s, 0
	for j, w := range b.words[:b.n] {
		few.value[k], few.own[k], few.words[k] = uint32(j), b.row(j), w
		k += int(entries[w/rankBits] >> (w % rankBits) & 1)
	}
	if k > b.n/2 {
		f.findHashed(b)
		return
	}
	few.gather(few.own[:k])
	f.findHashed(few)
	clear(b.ids[:b.n])
	for i, id := range few.ids[:k] {
		b.ids[few.value[i]] = id
	}
}
