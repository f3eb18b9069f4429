package cpu

import (
	"errors"
	"math/bits"

	"github.com/volley-go/volley/device"
)

// textRecord is a row with a short text on its way to its part; bit 63 of the
// second word says that there is no value.
type textRecord struct {
	text  [2]uint64
	value uint64
}

// textParts cut the rows of a round by the first bits of their texts' hashes.
type textParts[T int32 | int64, S float64 | int64] struct {
	*tallying[S]
	r       *textReader[T]
	skip    uint
	counts  vec[uint32] // of each chunk and part, then where they write
	records vec[textRecord]
	rows    vec[uint32] // of each record, where first rows are wanted
	ends    []int
	spare   bool // the counts of each part are guessed and room for them is left
	room    int  // records of a chunk and part, where spare
	chunks  int

	nulls [64]tally[S] // of each chunk of a round
	null  tally[S]     // of all rounds before
}

// of gives the records of a part, chunk by chunk.
func (p *textParts[T, S]) of(part int, f func(records []textRecord, rows []uint32) error) error {
	piece := func(from, to int) error {
		if p.firsts {
			return f(p.records.s[from:to], p.rows.s[from:to])
		}
		return f(p.records.s[from:to], nil)
	}
	if !p.spare {
		return piece(p.ends[part], p.ends[part+1])
	}
	for c := range p.chunks {
		i := c<<p.skip + part
		if err := piece(i*p.room, int(p.counts.s[i])); err != nil {
			return err
		}
	}
	return nil
}

// partTexts is hashParts for texts.
func partTexts[T int32 | int64, S float64 | int64](t *tallying[S], r *textReader[T], guess int64) (done bool, err error) {
	p := &textParts[T, S]{tallying: t, r: r, skip: tallySkip(guess), spare: true}
	parts := 1 << p.skip
	p.ends = make([]int, parts+1)
	if p.counts, err = newVec[uint32](t.a, 64*parts); err != nil {
		return false, err
	}
	defer func() {
		t.a.drop(p.counts.b)
		t.a.drop(p.records.b)
		t.a.drop(p.rows.b)
	}()
	tables := make([]textTable[S], parts)
	for from, step := int64(0), max(roundRows/2, 4*guess); from < t.n; from += step {
		err := p.split(from, min(from+step, t.n))
		p.null = p.allNulls()
		if errors.Is(err, errLong) {
			for i := range tables {
				t.a.drop(tables[i].slots.b)
			}
			return false, nil
		}
		if err != nil {
			return false, err
		}
		err = tasks(t.ctx, parts, func(_, part int) error {
			h, n := &tables[part], 0
			_ = p.of(part, func(records []textRecord, _ []uint32) error {
				n += len(records)
				return nil
			})
			if h.slots.b == nil {
				if err := h.reset(t.a, slotsFor(min(int64(n), guess>>p.skip*9/8))); err != nil {
					return err
				}
			}
			return p.of(part, func(records []textRecord, rows []uint32) error { return p.foldPart(h, records, rows) })
		})
		if err != nil {
			return false, err
		}
	}
	if err := p.putNull(tables); err != nil {
		return false, err
	}
	lists := make([]vec[textSlot[S]], parts)
	err = tasks(t.ctx, parts, func(_, part int) (err error) {
		h := &tables[part]
		if lists[part], err = newVec[textSlot[S]](t.a, h.used); err != nil {
			return err
		}
		h.list(lists[part].s)
		t.a.drop(h.slots.b)
		return nil
	})
	if err == nil && t.firsts {
		lists, err = byFirst(t.ctx, t.a, t.n, lists)
	}
	if err != nil {
		return false, err
	}
	return true, putTexts[T](t, lists)
}

// list copies the slots that are not free.
func (h *textTable[S]) list(to []textSlot[S]) {
	k := 0
	for i := range h.slots.s {
		if s := &h.slots.s[i]; s.counts != 0 {
			to[k] = *s
			k++
		}
	}
}

// spareRows is how many rows a chunk has whose parts have room to spare.
const spareRows = 1 << 17

// split makes the records of rows from to to. Making words of texts takes longer
// than writing them, so it is done once, into half as much room again as parts need
// that are even; where one is not, as tallyParts.split does.
func (p *textParts[T, S]) split(from, to int64) error {
	if p.spare {
		p.chunks = int(max(1, min(64, (to-from)/spareRows)))
		mean := int(to-from) / p.chunks >> p.skip
		p.room = (mean+mean/2+64)/16*16 + 8 // an odd number of lines: parts do not contend for places in a cache
		if all := p.room * p.chunks << p.skip; mean >= 64 && all < 1<<31 {
			err := p.splitOnce(from, to, all)
			if !errors.Is(err, errFull) {
				return err
			}
		}
		p.spare = false
	}
	return p.splitCounted(from, to)
}

// hold makes room for n records.
func (p *textParts[T, S]) hold(n int) (err error) {
	if cap(p.records.s) < n {
		p.a.drop(p.records.b)
		p.records = vec[textRecord]{}
		if p.records, err = newVec[textRecord](p.a, n); err != nil {
			return err
		}
	}
	p.records.s = p.records.s[:n]
	if p.firsts && cap(p.rows.s) < n {
		p.a.drop(p.rows.b)
		p.rows = vec[uint32]{}
		if p.rows, err = newVec[uint32](p.a, n); err != nil {
			return err
		}
	}
	p.rows.s = p.rows.s[:min(n, cap(p.rows.s))]
	return nil
}

func (p *textParts[T, S]) splitOnce(from, to int64, all int) error {
	if err := p.hold(all); err != nil {
		return err
	}
	clear(p.nulls[:])
	room, records := uint32(p.room), p.records.s
	for i := range uint32(p.chunks) << p.skip {
		p.counts.s[i] = i * room
	}
	return p.eachStep(from, to, p.chunks, func(c int, b *tallyBatch[S], n int) error {
		next, back := p.counts.s[c<<p.skip:][:1<<p.skip], 64-p.skip
		sums, incs := p.loadValues(b)
		values, texts, first := bitsOf(sums)[:n], b.texts[:n], uint32(c<<p.skip)*room+room
		p.tallyNulls(&p.nulls[c], b, n, sums, incs)
		if p.valid != nil {
			p.noValues(b, incs)
		}
		for j, h := range b.hashes[:n] {
			part := h >> (back & 63) & uint64(len(next)-1)
			at := next[part]
			if at == first+uint32(part)*room {
				return errFull
			}
			to := &records[at]
			to.text[0], to.text[1], to.value = texts[j][0], texts[j][1], values[j] // a copy of a whole record waits for its own stores
			if p.firsts {
				p.rows.s[at] = b.from + uint32(j)
			}
			next[part] = at + 1 - isNullText(texts[j][1]) // the next record takes the place of a null
		}
		return nil
	})
}

// splitCounted is split in one pass that counts and one that writes.
func (p *textParts[T, S]) splitCounted(from, to int64) error {
	chunks, parts := max(1, min(64, morsels(to-from))), 1<<p.skip
	clear(p.counts.s)
	err := p.eachStep(from, to, chunks, func(c int, b *tallyBatch[S], n int) error {
		counts, back := p.counts.s[c*parts:][:parts], 64-p.skip
		texts := b.texts[:n]
		for j, h := range b.hashes[:n] {
			counts[h>>(back&63)&uint64(len(counts)-1)] += 1 - isNullText(texts[j][1])
		}
		return nil
	})
	if err != nil {
		return err
	}
	sum := 0
	for part := range parts {
		p.ends[part] = sum
		for c := range chunks {
			at := &p.counts.s[c*parts+part]
			k := *at
			*at = uint32(sum)
			sum += int(k)
		}
	}
	p.ends[parts] = sum
	if err := p.hold(sum + chunks); err != nil {
		return err
	}
	clear(p.nulls[:])
	records := p.records.s
	return p.eachStep(from, to, chunks, func(c int, b *tallyBatch[S], n int) error {
		next, back := p.counts.s[c*parts:][:parts], 64-p.skip
		sums, incs := p.loadValues(b)
		values, texts := bitsOf(sums)[:n], b.texts[:n]
		p.tallyNulls(&p.nulls[c], b, n, sums, incs)
		if p.valid != nil {
			p.noValues(b, incs)
		}
		for j, h := range b.hashes[:n] {
			place := &next[h>>(back&63)&uint64(len(next)-1)]
			null := isNullText(texts[j][1])
			at := *place&(null-1) | uint32(sum+c)&-null // nulls are written where nobody reads
			to := &records[at]
			to.text[0], to.text[1], to.value = texts[j][0], texts[j][1], values[j] // a copy of a whole record waits for its own stores
			if p.firsts {
				p.rows.s[at] = b.from + uint32(j)
			}
			*place += 1 - null
		}
		return nil
	})
}

// noValues marks the texts of rows that have no value.
func (p *textParts[T, S]) noValues(b *tallyBatch[S], incs []uint64) {
	for j, inc := range incs {
		b.texts[j&(tallyStep-1)][1] |= ^inc >> 32 << 63
	}
}

// isNullText is 1 for the second word of null, else 0.
func isNullText(high uint64) uint32 { return uint32(high >> 62 & 1) }

// tallyNulls adds the null rows of a step to t. They are no records: all of them would be
// in one part, which one worker would fold and the others have no room beside.
func (p *textParts[T, S]) tallyNulls(t *tally[S], b *tallyBatch[S], n int, sums []S, incs []uint64) {
	if p.r.valid == nil {
		return
	}
	inc := uint64(oneValue)
	if p.firsts {
		inc = oneRow
	}
	for at := 0; at < n; at += 64 {
		k := min(64, n-at)
		w := ^p.r.valid.Word(p.r.at+int64(b.from)+int64(at), int64(k)) & (allValid >> (64 - uint(k)))
		if w != 0 && p.firsts {
			t.begin(b.from + uint32(at+bits.TrailingZeros64(w)))
		}
		for ; w != 0; w &= w - 1 {
			j := at + bits.TrailingZeros64(w)
			t.sum += sums[j]
			if incs == nil {
				t.counts += inc
			} else {
				t.counts += incs[j]
			}
		}
	}
}

// allNulls adds the nulls of a round, chunk by chunk, to those before.
func (p *textParts[T, S]) allNulls() tally[S] {
	all := p.null
	for _, t := range p.nulls {
		all.add(t, p.firsts)
	}
	return all
}

// putNull makes null a group where there are any.
func (p *textParts[T, S]) putNull(tables []textTable[S]) error {
	if p.null.counts == 0 {
		return nil
	}
	hash := mixText(0, nullTop)
	h := &tables[hash>>((64-p.skip)&63)]
	var err error
	switch {
	case h.slots.b == nil:
		err = h.reset(p.a, slotsFor(1))
	case h.used > len(h.slots.s)*7/10:
		err = h.double(p.a, p.skip)
	}
	if err != nil {
		return err
	}
	h.find(hash<<(p.skip&63)>>(h.shift&63), 0, nullTop).add(p.null, p.firsts)
	return nil
}

// eachStep calls f for steps of rows, whose texts are in b, chunk by chunk.
func (p *textParts[T, S]) eachStep(first, last int64, chunks int, f func(c int, b *tallyBatch[S], n int) error) error {
	size := (last - first + int64(chunks) - 1) / int64(chunks)
	return tasks(p.ctx, chunks, func(_, c int) error {
		b, _ := p.rooms.get()
		defer p.rooms.put(b)
		from := min(first+int64(c)*size, last)
		to := min(from+size, last)
		for k := 1; from < to; k++ {
			if k%128 == 0 {
				if err := device.Canceled(p.ctx, "cpu", ""); err != nil {
					return err
				}
			}
			n := int(min(tallyStep, to-from))
			if !p.r.read(from, b.texts[:n], b.hashes[:n]) {
				return errLong
			}
			b.span(from, n)
			if err := f(c, b, n); err != nil {
				return err
			}
			from += int64(n)
		}
		return nil
	})
}

// foldPart adds the records of a part to its table.
func (p *textParts[T, S]) foldPart(h *textTable[S], records []textRecord, rows []uint32) error {
	b, _ := p.rooms.get()
	defer p.rooms.put(b)
	for k := 0; len(records) > 0; k++ {
		if k%64 == 63 {
			if err := device.Canceled(p.ctx, "cpu", ""); err != nil {
				return err
			}
		}
		n := min(tallyStep, len(records))
		if h.used > len(h.slots.s)*7/10 {
			if err := h.double(p.a, p.skip); err != nil {
				return err
			}
		}
		if rows == nil {
			h.foldRecords(b, records[:n], nil, p.skip)
		} else {
			h.foldRecords(b, records[:n], rows[:n], p.skip)
			rows = rows[n:]
		}
		records = records[n:]
	}
	return nil
}

func (h *textTable[S]) foldRecords(b *tallyBatch[S], records []textRecord, rows []uint32, skip uint) {
	slots, shift, mask := h.slots.s, h.shift, uint64(len(h.slots.s)-1)
	values := ^uint64(0)
	if rows != nil { // first rows are where counts of values are else
		values = 0
	}
	if len(slots) <= nearSlots {
		for j := range records {
			r := &records[j]
			low, high := r.text[0], r.text[1]&^noValue
			i := mixText(low, high) << (skip & 63) >> (shift & 63)
			s := &slots[i&mask]
			if s.low != low || s.high != high || s.counts == 0 {
				s = h.find(i, low, high)
				if rows != nil {
					s.begin(rows[j])
				}
			}
			s.sum += valueOf[S](r.value)
			s.counts += oneRow + ^r.text[1]>>63<<32&values
		}
		return
	}
	lookRecords(slots, records, &b.heads, skip, shift)
	for j := addRecords(slots, records, &b.heads, values, 0); j < len(records); j = addRecords(slots, records, &b.heads, values, j+1) {
		r := &records[j]
		low, high := r.text[0], r.text[1]&^noValue
		s := h.find(mixText(low, high)<<(skip&63)>>(shift&63), low, high)
		if rows != nil {
			s.begin(rows[j])
		}
		s.sum += valueOf[S](r.value)
		s.counts += oneRow + ^r.text[1]>>63<<32&values
	}
}

// double makes a part's table twice as large.
func (h *textTable[S]) double(a *arena, skip uint) error {
	old := h.slots
	h.slots = vec[textSlot[S]]{}
	if err := h.reset(a, 2*len(old.s)); err != nil {
		return err
	}
	for i := range old.s {
		if s := &old.s[i]; s.counts != 0 {
			*h.find(mixText(s.low, s.high)<<(skip&63)>>(h.shift&63), s.low, s.high) = *s
		}
	}
	a.drop(old.b)
	return nil
}
