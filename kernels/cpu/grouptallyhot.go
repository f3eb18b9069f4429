package cpu

import "math"

// Of keys that a great share of rows has, parts of hashes make little: the rows of one
// key are all one part's, which is one worker's, and each is written as a record only to
// be added to the same slot as the one before. Where a sample shows such keys, their
// rows are added where they are met, to tallies that lie in the first-level cache, and
// only the others are cut into parts.
//
// Each pass over rows sifts them, a batch at a time, and the one that writes records has
// tallies for each chunk. These are added in the order of chunks, so that sums do not
// depend on the threads.

const (
	hotSeen  = 8 // how often a sample has to have a word that is hot
	hotShare = 4 // one row in so many has to have one, or sifting is not worth it
	hotBits  = 9 // the logarithm of the places for hot keys: 4 KiB and 8 of tallies
)

// hotKeys has a place for each hash's first bits, with one word that is hot, or with one
// that has another place.
type hotKeys [1 << hotBits]uint64

func hotPlace(w uint64) uint64 { return hashWord(w, 0) >> (64 - hotBits) }

// sampled is the guess of groups by a sample, and the words that are hot; nil where few
// rows have one. Others are taken for equally frequent, unless more of them were seen
// once than would be then. Then the guess is the estimate of Charikar and others (Towards
// estimation error guarantees for distinct values, PODS 2000), in which a word seen once
// stands for the root of rows over rows of the sample.
func (t *tallying[S]) sampled(s *wordSample) (guess int64, hot *hotKeys) {
	hot, counts := new(hotKeys), new([1 << hotBits]uint16)
	hot[0] = 1 // whose place is another, as is that of 0 for all others
	share, once, rest := int64(0), int64(0), s.seen
	for i, k := range s.counts {
		if k == 1 {
			once++
		}
		if k < hotSeen {
			continue
		}
		rest -= int64(k)
		w := s.words[i] // less the base already
		if at := hotPlace(w); k > counts[at] {
			share += int64(k) - int64(counts[at])
			hot[at], counts[at] = w, k
		}
	}
	if s.rows <= sampleRows || share == 0 || hotShare*share < s.seen {
		return s.groups(t.ks.card, max(s.seen/8, 2)), nil
	}
	guess = s.groups(t.ks.card, hotSeen)
	if even := float64(rest) * math.Pow(1-1/float64(guess), float64(rest-1)); float64(once) < even*17/16 {
		return guess, hot
	}
	most := s.rows
	if card := t.ks.card; card != 0 && card < uint64(most) {
		most = int64(card)
	}
	uneven := math.Sqrt(float64(s.rows)/float64(s.seen))*float64(once) + float64(s.distinct-once)
	return min(most, int64(uneven)), hot
}

// sifting is what a call that sifts has.
type sifting[S float64 | int64] struct {
	a       *arena
	keys    *hotKeys
	base    uint64
	firsts  bool
	adds    bool          // in a pass that adds rows of hot keys
	numbers bool          // in a pass that takes the numbers of rows
	tallies vec[tally[S]] // of each chunk
	all     [1 << hotBits]tally[S]
}

// adding makes a pass over so many chunks add the rows of hot keys.
func (s *sifting[S]) adding(chunks int, pass func() error) error {
	if s == nil {
		return pass()
	}
	if err := s.tallies.resize(s.a, chunks<<hotBits); err != nil {
		return err
	}
	clear(s.tallies.s)
	s.adds = true
	err := pass()
	s.adds = false
	for i, more := range s.tallies.s {
		if uint32(more.counts) != 0 {
			s.all[i&(1<<hotBits-1)].add(more, s.firsts)
		}
	}
	return err
}

// sift leaves the rows of a batch of a chunk whose keys are not hot.
func (s *sifting[S]) sift(chunk int, b *tallyBatch[S], words []uint64, sums []S, incs []uint64) ([]uint64, []S, []uint64) {
	if b.picked == nil {
		b.picked = new(pickedRows)
	}
	to, values, rows, k := b.picked, bitsOf(sums), []uint32(nil), 0
	if s.firsts && (s.adds || s.numbers) {
		rows = b.rowNumbers()
	}
	switch {
	case !s.adds:
		k = siftWords(s.keys, to, words, rows, s.base)
		incs = nil
	case rows == nil && incs == nil:
		k = siftValues(s.keys, s.of(chunk), to, words, values, s.base)
	default:
		k = siftRows(s.keys, s.of(chunk), to, words, values, incs, rows, s.base)
	}
	if b.n = k; rows != nil {
		b.rows = to.rows[:k]
	}
	if incs != nil {
		incs = to.incs[:k]
	}
	return to.words[:k], sumsOf[S](to.values[:k]), incs
}

func (s *sifting[S]) of(chunk int) *[1 << hotBits]tally[S] {
	return (*[1 << hotBits]tally[S])(s.tallies.s[chunk<<hotBits:])
}

// siftWords moves the words, and numbers if they are wanted, of cold rows to the
// beginning of to. Their number is k.
func siftWords(hot *hotKeys, to *pickedRows, words []uint64, rows []uint32, base uint64) (k int) {
	if rows == nil {
		for _, w := range words {
			to.words[k&(batchRows-1)] = w
			k += int(differs(hot[hotPlace(w-base)], w-base))
		}
		return k
	}
	rows = rows[:len(words)]
	for j, w := range words {
		to.words[k&(batchRows-1)], to.rows[k&(batchRows-1)] = w, rows[j]
		k += int(differs(hot[hotPlace(w-base)], w-base))
	}
	return k
}

// siftValues adds the rows of hot keys to their tallies and moves the others as
// siftWords does. There is no branch for which of both a row is: rows of others add
// nothing to the tally at their place.
func siftValues[S float64 | int64](hot *hotKeys, tallies *[1 << hotBits]tally[S], to *pickedRows, words, values []uint64, base uint64) (k int) {
	values = values[:len(words)]
	for j, w := range words {
		v, at := values[j], hotPlace(w-base)
		cold := differs(hot[at], w-base)
		to.words[k&(batchRows-1)], to.values[k&(batchRows-1)] = w, v
		k += int(cold)
		t := &tallies[at]
		t.sum += valueOf[S](v & (cold - 1))
		t.counts += oneValue & (cold - 1)
	}
	return k
}

// siftRows is siftValues for rows that are only counted, may have no value, or whose
// numbers are wanted.
func siftRows[S float64 | int64](hot *hotKeys, tallies *[1 << hotBits]tally[S], to *pickedRows, words, values, incs []uint64, rows []uint32, base uint64) (k int) {
	values = values[:len(words)]
	inc := incOf(rows)
	for j, w := range words {
		v, at, next := values[j], hotPlace(w-base), k&(batchRows-1)
		cold := differs(hot[at], w-base)
		to.words[next], to.values[next] = w, v
		t := &tallies[at]
		if incs != nil {
			to.incs[next] = incs[j]
		}
		if rows == nil {
			inc = incs[j]
		} else if to.rows[next] = rows[j]; cold|t.counts == 0 {
			t.begin(rows[j])
		}
		k += int(cold)
		t.sum += valueOf[S](v & (cold - 1))
		t.counts += inc & (cold - 1)
	}
	return k
}

// putHot puts the hot keys into the tables of their parts.
func (p *tallyParts[S]) putHot(tables []tallyTable[S], skip uint) error {
	s := p.hot
	for at := range s.all {
		t := &s.all[at]
		if uint32(t.counts) == 0 {
			continue
		}
		hash := hashWord(s.keys[at], p.up)
		h := &tables[hash>>(p.back&63)]
		if h.full() {
			if err := h.double(p.a, skip); err != nil {
				return err
			}
		}
		slot := h.find(hash<<(skip&63)>>(h.shift&63), hash)
		slot.tally = *t
		if p.firsts {
			if cap(h.firsts.s) < h.used {
				if err := h.firsts.grow(p.a, 2*h.used); err != nil {
					return err
				}
			}
			h.firsts.s = h.firsts.s[:cap(h.firsts.s)]
			h.firsts.s[h.used-1] = uint32(t.counts >> 32)
			slot.counts = uint64(h.used-1)<<32 | uint64(uint32(t.counts))
			h.known = h.used
		}
	}
	p.a.drop(s.tallies.b)
	return nil
}
