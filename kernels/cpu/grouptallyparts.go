package cpu

import (
	"math/bits"

	"github.com/volley-go/volley/device"
)

// tallyRecord is a row on its way to its part: its word, in whose bit 63 a
// record of a column with nulls says that there is no value, and its value.
type tallyRecord struct{ word, value uint64 }

const noValue = 1 << 63

// tallyParts are rows as records, part by part, in the order of rows within
// each: the sum of a group is taken in that order, whatever the threads.
type tallyParts[S float64 | int64] struct {
	*tallying[S]
	parts   int
	low     uint64 // of a word, its part; 0 where parts are of hashes
	back    uint   // of a hash, what is shifted out for its part
	up      uint   // of a hash, the low bits left free
	records vec[tallyRecord]
	ends    []int // of each part
}

// split makes the records of rows from to to: one pass that counts, of the keys
// alone, and one that writes each row to the next place of its part.
func (p *tallyParts[S]) split(from, to int64) error {
	chunks := int64(max(1, min(64, morsels(to-from))))
	counts, err := zeroVec[uint32](p.a, int(chunks)*p.parts)
	if err != nil {
		return err
	}
	defer p.a.drop(counts.b)
	values := p.values
	p.values = nil // the first pass reads keys alone
	err = p.eachChunk(from, to, chunks, func(c int) (tallyFold[S], error) {
		count := counts.s[c*p.parts:][:p.parts]
		return func(_ *tallyBatch[S], words []uint64, _ []S, _ []uint64) error {
			base, low, back, up := p.base, p.low, p.back, p.up
			if low != 0 || p.parts == 1 {
				for _, w := range words {
					count[(w-base)&low]++
				}
				return nil
			}
			for _, w := range words {
				count[hashWord(w-base, up)>>(back&63)]++
			}
			return nil
		}, nil
	})
	p.values = values
	if err != nil {
		return err
	}
	sum := 0
	p.ends = make([]int, p.parts)
	for part := range p.parts {
		for c := range int(chunks) {
			at := &counts.s[c*p.parts+part]
			k := *at
			*at = uint32(sum)
			sum += int(k)
		}
		p.ends[part] = sum
	}
	if cap(p.records.s) < sum {
		p.a.drop(p.records.b)
		if p.records, err = newVec[tallyRecord](p.a, sum); err != nil {
			return err
		}
	}
	records := p.records.s[:sum]
	return p.eachChunk(from, to, chunks, func(c int) (tallyFold[S], error) {
		next := counts.s[c*p.parts:][:p.parts]
		return func(_ *tallyBatch[S], words []uint64, sums []S, incs []uint64) error {
			values := bitsOf(sums)[:len(words)]
			if p.low != 0 || p.parts == 1 {
				p.writeWords(records, next, words, values, incs)
			} else {
				p.writeHashes(records, next, words, values, incs)
			}
			return nil
		}, nil
	})
}

func (p *tallyParts[S]) writeWords(records []tallyRecord, next []uint32, words, values, incs []uint64) {
	base, low := p.base, p.low
	if p.valid == nil {
		for j, w := range words {
			w -= base
			at := &next[w&low]
			records[*at] = tallyRecord{w, values[j]}
			*at++
		}
		return
	}
	for j, w := range words {
		w -= base
		at := &next[w&low]
		records[*at] = tallyRecord{w | ^incs[j]>>32<<63, values[j]}
		*at++
	}
}

func (p *tallyParts[S]) writeHashes(records []tallyRecord, next []uint32, words, values, incs []uint64) {
	base, back, up := p.base, p.back, p.up
	if p.valid == nil {
		for j, w := range words {
			h := hashWord(w-base, 0)
			at := &next[h>>(back&63)]
			records[*at] = tallyRecord{h, values[j]}
			*at++
		}
		return
	}
	for j, w := range words {
		h := hashWord(w-base, up)
		at := &next[h>>(back&63)]
		records[*at] = tallyRecord{h | ^incs[j]>>32&1, values[j]}
		*at++
	}
}

// hashWord spreads a word, without the loss of a bit, over all 64 bits but for
// up low ones; words are below 2^(64-up). wordOf is the word again.
func hashWord(w uint64, up uint) uint64 { return (w ^ w>>32) * hashFactor << (up & 63) }

func wordOf(h uint64, up uint) uint64 {
	w := h >> (up & 63) * hashInverse & (^uint64(0) >> (up & 63))
	return w ^ w>>32
}

// hashFactor is 2^64 over the golden ratio, made odd; hashInverse times it is 1.
const (
	hashFactor  = 0x9e3779b97f4a7c15
	hashInverse = 0xf1de83e19937733d
)

func (p *tallyParts[S]) start(part int) int {
	if part == 0 {
		return 0
	}
	return p.ends[part-1]
}

// densePlacesOf is how many places a part's array has at most, 512 KiB, as long as
// that takes no more than manyDenseParts parts (the logarithm): with 4096 of them,
// among ten times the rows, a row took nearly four times as long as with 512.
const (
	densePlacesOf  = 1 << 15
	manyDenseParts = 10
)

// denseParts cuts a large range by low bits, so that keys that are close, and
// often equally frequent, come to different parts. It moves the input one and a
// half times, the records twice, and the results.
func (t *tallying[S]) denseParts(card uint64) error {
	shift := uint(bits.Len64((card - 1) / densePlacesOf))
	if shift > manyDenseParts {
		shift = uint(max(manyDenseParts, bits.Len64((card-1)/(8*densePlacesOf))))
	}
	low := uint64(1)<<shift - 1
	p := &tallyParts[S]{tallying: t, parts: 1 << shift, low: low}
	if err := p.split(0, t.n); err != nil {
		return err
	}
	places := int((card-1)>>shift) + 1
	// A part has no more groups than rows or places. Where all have as many, each
	// writes its groups where they belong.
	rooms := make([]int, p.parts+1)
	for part := range p.parts {
		rooms[part+1] = rooms[part] + min(p.ends[part]-p.start(part), places)
	}
	if err := t.out.start(rooms[p.parts]); err != nil {
		return err
	}
	found := make([]int, p.parts)
	arrays := perWorker[vec[tally[S]]]{make: func() (vec[tally[S]], error) { return zeroVec[tally[S]](t.a, places) }}
	err := tasks(t.ctx, p.parts, func(worker, part int) error {
		array, err := arrays.of(worker)
		if err != nil {
			return err
		}
		clear(array.s)
		records := p.records.s[p.start(part):p.ends[part]]
		for k := 0; len(records) > 0; k++ {
			if k%16 == 15 {
				if err := device.Canceled(t.ctx, "cpu", ""); err != nil {
					return err
				}
			}
			n := min(1<<14, len(records))
			if !foldRecords(array.s, records[:n], shift) {
				return errRange
			}
			records = records[n:]
		}
		b, _ := t.rooms.get()
		defer t.rooms.put(b)
		found[part] = t.out.putDense(b, rooms[part], array.s, 0, shift, uint64(part)) - rooms[part]
		return nil
	})
	for _, array := range arrays.all {
		t.a.drop(array.b)
	}
	t.a.drop(p.records.b)
	if err != nil {
		return err
	}
	return t.out.close(t.ctx, rooms, found)
}

// foldRecords adds records to the tallies at the bits above the low ones that
// all of a part share.
func foldRecords[S float64 | int64](array []tally[S], records []tallyRecord, shift uint) bool {
	for i := range records {
		r := &records[i]
		w := r.word &^ noValue >> (shift & 63)
		if w >= uint64(len(array)) {
			return false
		}
		at := &array[w]
		at.sum += valueOf[S](r.value)
		at.counts += oneRow + ^r.word>>63<<32
	}
	return true
}

// roundRows is how many rows are cut at a time where groups are few against
// them: their records take 64 MiB. Fewer, 16 MiB that third-level caches hold,
// took a tenth longer, as the tables of parts are fetched for each round.
const roundRows = 1 << 22

// partGroups is how many groups a part's table is to have, if there are not more
// than mostTallyParts of them: its slots, 24 KiB, stay in the first-level cache.
// With 2^12, in the second-level one, a row took a quarter longer.
const (
	partGroups     = 1 << 8
	mostTallyParts = 11 // the logarithm
)

// hashParts cuts words by the first bits of their hashes. Each part has a table
// of its own that stays from round to round. Where values have nulls, bit 63 of
// words has to be to spare.
func (t *tallying[S]) hashParts(guess int64) (done bool, err error) {
	skip := uint(4)
	for guess>>skip > partGroups && skip < mostTallyParts {
		skip++
	}
	p := &tallyParts[S]{tallying: t, parts: 1 << skip, back: 64 - skip}
	if t.valid != nil {
		p.up = 1
	}
	tables := make([]tallyTable[S], p.parts)
	for from, step := int64(0), max(roundRows, 4*guess); from < t.n; from += step {
		if err := p.split(from, min(from+step, t.n)); err != nil {
			return false, err
		}
		err = tasks(t.ctx, p.parts, func(_, part int) error {
			h, records := &tables[part], p.records.s[p.start(part):p.ends[part]]
			if h.slots.b == nil {
				if err := h.reset(t.a, slotsFor(min(int64(len(records)), guess>>skip*9/8))); err != nil {
					return err
				}
			}
			return t.foldPart(h, records, skip)
		})
		if err != nil {
			return false, err
		}
	}
	t.a.drop(p.records.b)
	lists := make([]vec[tallySlot[S]], p.parts)
	err = tasks(t.ctx, p.parts, func(_, part int) (err error) {
		h := &tables[part]
		if lists[part], err = newVec[tallySlot[S]](t.a, h.used+1); err != nil {
			return err
		}
		k := 0
		for i := range h.slots.s {
			if s := &h.slots.s[i]; s.counts != 0 {
				lists[part].s[k] = tallySlot[S]{wordOf(s.word, p.up), s.tally}
				k++
			}
		}
		lists[part].s = lists[part].s[:k]
		t.a.drop(h.slots.b)
		return nil
	})
	if err != nil {
		return false, err
	}
	return true, t.putLists(lists)
}

// foldPart adds the records of a part to its table.
func (t *tallying[S]) foldPart(h *tallyTable[S], records []tallyRecord, skip uint) error {
	b, _ := t.rooms.get()
	defer t.rooms.put(b)
	for k := 0; len(records) > 0; k++ {
		if k%64 == 63 {
			if err := device.Canceled(t.ctx, "cpu", ""); err != nil {
				return err
			}
		}
		n := min(tallyStep, len(records))
		if h.full() {
			if err := h.double(t.a, skip); err != nil {
				return err
			}
		}
		h.foldRecords(b, records[:n], skip, t.valid != nil)
		records = records[n:]
	}
	return nil
}

// nearSlots is how many slots a table may have that is in the first-level cache
// for the most part: few searches go beyond their first slot, and waiting for
// memory is not what they do, so that a branch costs less than two loops.
const nearSlots = 1 << 11

// foldRecords is foldStep for records of a part, whose hashes agree in the
// first skip bits and stand for their words.
func (h *tallyTable[S]) foldRecords(b *tallyBatch[S], records []tallyRecord, skip uint, nulls bool) {
	slots, shift, mask, free := h.slots.s, h.shift, uint64(len(h.slots.s)-1), uint64(0)
	if nulls {
		free = 1
	}
	if len(slots) <= nearSlots {
		for j := range records {
			r := &records[j]
			w := r.word &^ free
			i := w << (skip & 63) >> (shift & 63)
			s := &slots[i&mask]
			if s.word != w {
				s = h.find(i, w)
			}
			s.sum += valueOf[S](r.value)
			s.counts += oneValue - (r.word&free)<<32
		}
		return
	}
	for j := range records {
		w := records[j].word &^ free
		i := w << (skip & 63) >> (shift & 63)
		i += differs(slots[i&mask].word, w)
		i += differs(slots[i&mask].word, w)
		b.heads[j&(tallyStep-1)] = uint32(i)
	}
	for j := range records {
		r := &records[j]
		w := r.word &^ free
		s := &slots[uint64(b.heads[j&(tallyStep-1)])&mask]
		if s.word != w { // a free slot is that of 0 too
			s = h.find(w<<(skip&63)>>(shift&63), w)
		}
		s.sum += valueOf[S](r.value)
		s.counts += oneValue - (r.word&free)<<32
	}
}

// double makes a part's table twice as large.
func (h *tallyTable[S]) double(a *arena, skip uint) error {
	old := h.slots
	h.slots = vec[tallySlot[S]]{}
	if err := h.reset(a, 2*len(old.s)); err != nil {
		return err
	}
	for i := range old.s {
		if s := &old.s[i]; s.counts != 0 {
			*h.find(s.word<<(skip&63)>>(h.shift&63), s.word) = *s
		}
	}
	a.drop(old.b)
	return nil
}
