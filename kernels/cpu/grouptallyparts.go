package cpu

import (
	"github.com/klauspost/cpuid/v2"
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
	turn    uint   // of a part's number, what is shifted out for the turn that writes it
	records vec[tallyRecord]
	ends    []int // of each part that was written last
	chunks  int
	counts  vec[uint32] // of each chunk and part the rows, then where the next one goes
	sizes   []int       // of each part, its rows
}

// split makes the records of rows from to to: one pass that counts, of the keys
// alone, and one that writes each row to the next place of its part.
func (p *tallyParts[S]) split(from, to int64) error {
	if err := p.count(from, to); err != nil {
		return err
	}
	return p.hot.adding(p.chunks, func() error { return p.write(from, to, 0, p.parts) })
}

// count finds how many rows each part has.
func (p *tallyParts[S]) count(from, to int64) (err error) {
	if p.chunks = max(1, min(64, morsels(to-from))); to-from <= nearRows {
		p.chunks *= 2 // for more workers
	}
	room := countersRoom(p.parts, int(to-from)/p.chunks)
	if err = p.counts.resize(p.a, p.chunks*room); err != nil {
		return err
	}
	by, count := digit{base: p.base, mask: p.low}, p.l.histogram.u64
	if p.low == 0 && p.parts > 1 { // of a hash what is left without the up bits that a record keeps free
		by.shift, by.mask, count = p.back-p.up, uint64(p.parts-1), p.l.histogram.hashes
	}
	if p.raw != nil {
		by.ahead = countAhead
	}
	values := p.values
	p.values = nil // this pass reads keys alone
	err = p.eachChunk(from, to, int64(p.chunks), func(c int) (tallyFold[S], error) {
		to := countersOf(p.counts.s[c*room:][:room], p.parts)
		return func(_ *tallyBatch[S], words []uint64, _ []S, _ []uint64) error {
			count(to, words, by)
			return nil
		}, nil
	})
	p.values = values
	p.counts.s = sumTables(p.counts.s, p.chunks, p.parts)
	p.sizes, p.ends = make([]int, p.parts), make([]int, p.parts)
	for c := range p.chunks {
		for part, n := range p.counts.s[c*p.parts:][:p.parts] {
			p.sizes[part] += int(n)
		}
	}
	return err
}

// write makes the records of parts first to last: all, or those that 1<<turn divides.
func (p *tallyParts[S]) write(from, to int64, first, last int) (err error) {
	sum := 0
	for part := first; part < last; part++ {
		for c := range p.chunks {
			at := &p.counts.s[c*p.parts+part]
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
	if linesRecords(p.l.lines.from, sum, last-first, p.chunks) {
		return p.writeLines(from, to, first, last, records)
	}
	return p.eachChunk(from, to, int64(p.chunks), func(c int) (tallyFold[S], error) {
		next := p.counts.s[c*p.parts:][:p.parts]
		return func(b *tallyBatch[S], words []uint64, sums []S, incs []uint64) error {
			values, rows, byWords := bitsOf(sums)[:len(words)], []uint32(nil), p.low != 0 || p.parts == 1
			if byWords {
				rows = p.numbers(b)
			}
			if last-first < p.parts {
				words, values, incs, rows = p.pick(b, uint64(first), words, values, incs, rows)
			}
			switch {
			case rows != nil:
				p.writeFirsts(records, next, words, values, rows)
			case byWords:
				p.writeWords(records, next, words, values, incs)
			default:
				p.writeHashes(records, next, words, values, incs)
			}
			return nil
		}, nil
	})
}

// pick keeps the rows of a batch, in their order, whose parts are written in the
// turn that begins with part first.
func (p *tallyParts[S]) pick(b *tallyBatch[S], first uint64, words, values, incs []uint64, rows []uint32) (_, _, _ []uint64, _ []uint32) {
	if b.picked == nil {
		b.picked = new(pickedRows)
	}
	to, k, base, low, turn := b.picked, 0, p.base, p.low, p.turn&63
	values = values[:len(words)]
	first >>= turn
	switch {
	case rows != nil:
		rows = rows[:len(words)]
		for j, w := range words {
			at := k & (batchRows - 1)
			to.words[at], to.values[at], to.rows[at] = w, values[j], rows[j]
			k += int(1 - differs((w-base)&low>>turn, first))
		}
		return to.words[:k], to.values[:k], nil, to.rows[:k]
	case p.valid != nil:
		incs = incs[:len(words)]
		for j, w := range words {
			at := k & (batchRows - 1)
			to.words[at], to.values[at], to.incs[at] = w, values[j], incs[j]
			k += int(1 - differs((w-base)&low>>turn, first))
		}
		return to.words[:k], to.values[:k], to.incs[:k], nil
	}
	for j, w := range words {
		at := k & (batchRows - 1)
		to.words[at], to.values[at] = w, values[j]
		k += int(1 - differs((w-base)&low>>turn, first))
	}
	return to.words[:k], to.values[:k], nil, nil
}

// pickedRows is room for the rows of a batch that are picked.
type pickedRows struct {
	words, values, incs [batchRows]uint64
	rows                [batchRows]uint32
}

// free gives back what was held for records.
func (p *tallyParts[S]) free() {
	p.a.drop(p.records.b)
	p.a.drop(p.counts.b)
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
		scatterHashes(records, next[:1<<(64-back)], words, values[:len(words)], base, back)
		return
	}
	for j, w := range words {
		h := hashWord(w-base, up)
		at := &next[h>>(back&63)]
		records[*at] = tallyRecord{h | ^incs[j]>>32&1, values[j]}
		*at++
	}
}

// writeFirsts writes records that have the numbers of their rows above words.
func (p *tallyParts[S]) writeFirsts(records []tallyRecord, next []uint32, words, values []uint64, rows []uint32) {
	base, low := p.base, p.low
	values, rows = values[:len(words)], rows[:len(words)]
	for j, w := range words {
		w -= base
		at := &next[w&low]
		records[*at] = tallyRecord{w | uint64(rows[j])<<32, values[j]}
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

// of are the records of a part.
func (p *tallyParts[S]) of(part int) []tallyRecord {
	return p.records.s[p.ends[part]-p.sizes[part] : p.ends[part]]
}

// roundRows is how many rows are cut at a time at most where groups are few against
// them: their records take 32 MiB. Twice as many took a twentieth less time, half as
// many a tenth more, as the tables of parts are fetched for each round.
const roundRows = 1 << 21

// nearRows is how many they are where the second-level cache is large: their records,
// 8 MiB, stay in the third-level one, and the tables of few parts are fetched soon.
const nearRows = 1 << 19

// partGroups is how many groups a part's table is to have, if there are not more than
// mostNearParts (the logarithm) of them: its slots, 24 KiB, stay in the first-level
// cache. With 2^12, in the second-level one, a row of 1e5 groups took a quarter longer
// (Zen 4). More groups go to that many parts of up to farPartGroups each, of 192 KiB:
// 2048 parts to write to took a fifth to two fifths longer (1e6 groups, Zen 4). Beyond
// that there are up to mostTallyParts (the logarithm).
const (
	partGroups     = 1 << 8
	mostNearParts  = 9
	farPartGroups  = 1 << 12
	mostTallyParts = 11
)

// Where the second-level cache of a core is large, parts have widePartGroups groups
// each, up to mostWideParts (the logarithm) of them, then up to mostWideGroups:
// tables of 96 to 768 KiB. A core with such a cache (Sapphire Rapids) wrote a record
// to one of 64 parts in 2.2 ns, and to one of 128 or more in 4.5, more than the
// first-level cache saves in the tables.
const (
	wideCache      = 2 << 20
	widePartGroups = 1 << 11
	mostWideParts  = 6
	mostWideGroups = 1 << 14
)

// largeL2 says that the second-level cache is large; tests have both.
var largeL2 = cpuid.CPU.Cache.L2 >= wideCache

// tallySkip is the logarithm of how many parts are cut for so many groups.
func tallySkip(groups int64) uint {
	each, most, far := int64(partGroups), uint(mostNearParts), int64(farPartGroups)
	if largeL2 {
		each, most, far = widePartGroups, mostWideParts, mostWideGroups
	}
	if groups>>most > far {
		each, most = far, mostTallyParts
	}
	skip := uint(4)
	for groups>>skip > each && skip < most {
		skip++
	}
	return skip
}

// hashParts cuts words by the first bits of their hashes. Each part has a table
// of its own that stays from round to round. Where values have nulls, bit 63 of
// words has to be to spare. Rows of hot keys, if there are any, are not cut.
func (t *tallying[S]) hashParts(guess int64, hot *hotKeys) (done bool, err error) {
	skip := tallySkip(guess)
	p := &tallyParts[S]{tallying: t, parts: 1 << skip, back: 64 - skip, up: t.spare()}
	tables := make([]tallyTable[S], p.parts)
	var rows vec[uint32] // of each record, where first rows are looked for
	step := int64(roundRows)
	if largeL2 {
		step = nearRows
	}
	step = max(step, 4*guess)
	step = (t.n-1)/((t.n-1)/step+1) + 1 // rounds of one size
	if hot != nil {
		t.hot = &sifting[S]{a: t.a, keys: hot, base: t.base, firsts: t.firsts}
	}
	for from := int64(0); from < t.n; from += step {
		if err := p.fold(tables, &rows, guess, skip, from, min(from+step, t.n)); err != nil {
			return false, err
		}
	}
	p.free()
	t.a.drop(rows.b)
	if hot != nil {
		if err := p.putHot(tables, skip); err != nil {
			return false, err
		}
	}
	return true, t.putTables(tables, skip, p.up)
}

// fold adds a round of rows to the tables of their parts.
func (p *tallyParts[S]) fold(tables []tallyTable[S], rows *vec[uint32], guess int64, skip uint, from, to int64) error {
	if err := p.split(from, to); err != nil {
		return err
	}
	err := tasks(p.ctx, p.parts, func(_, part int) error {
		h, records := &tables[part], p.of(part)
		if h.slots.b == nil {
			if err := h.reset(p.a, slotsFor(min(int64(len(records)), guess>>skip*9/8))); err != nil {
				return err
			}
		}
		return p.foldPart(h, records, skip, p.ends[part]-len(records))
	})
	if err != nil || !p.firsts {
		return err
	}
	if p.hot != nil {
		p.hot.numbers = true
		defer func() { p.hot.numbers = false }()
	}
	return p.findFirsts(tables, rows, from, to)
}

// foldPart adds the records of a part, which begin at place at of all, to its table.
func (t *tallying[S]) foldPart(h *tallyTable[S], records []tallyRecord, skip uint, at int) error {
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
		if t.firsts {
			if err := h.foldFirsts(t.a, b, records[:n], skip, uint32(at)); err != nil {
				return err
			}
		} else {
			h.foldRecords(b, records[:n], skip, t.valid != nil)
		}
		records, at = records[n:], at+n
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
	h.look(b, records, skip, free)
	for j := 0; j < len(records); j++ {
		j = h.addLooked(b, records, j, free) // without a call for a row
		if j == len(records) {
			return
		}
		r := &records[j]
		w := r.word &^ free
		s := h.find(w<<(skip&63)>>(shift&63), w)
		s.sum += valueOf[S](r.value)
		s.counts += oneValue - (r.word&free)<<32
	}
}

// addLooked adds records from j on to the slots that look found, and stops at one
// that is not there.
func (h *tallyTable[S]) addLooked(b *tallyBatch[S], records []tallyRecord, j int, free uint64) int {
	slots, mask := h.slots.s, uint64(len(h.slots.s)-1)
	if free == 0 {
		return addHeads(slots, records, &b.heads, j)
	}
	for ; j < len(records); j++ {
		r := &records[j]
		w := r.word &^ free
		s := &slots[uint64(b.heads[j&(tallyStep-1)])&mask]
		if s.word != w {
			return j
		}
		s.sum += valueOf[S](r.value)
		s.counts += oneValue - (r.word&free)<<32
	}
	return j
}

// look finds where records' words are: in the first three slots of each search,
// without a branch.
func (h *tallyTable[S]) look(b *tallyBatch[S], records []tallyRecord, skip uint, free uint64) {
	k, slots, shift := 0, h.slots.s, h.shift-skip
	if b.look != nil {
		k = len(records) &^ 7
		b.look(b.heads[:k], recordWords(records[:k]), &slots[0].word, uint64(shift), uint64(len(slots)-1), free)
	}
	lookHashes(slots, records[k:], b.heads[k:], shift, free)
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
