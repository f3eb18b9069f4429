package cpu

import (
	"errors"

	"github.com/volley-go/volley/device"
)

// textRecord is a row with a short text on its way to its part; bit 63 of high
// says that there is no value.
type textRecord struct{ low, high, value uint64 }

// textParts cut the rows of a round by the first bits of their texts' hashes.
type textParts[T int32 | int64, S float64 | int64] struct {
	*tallying[S]
	r       *textReader[T]
	skip    uint
	counts  vec[uint32] // of each chunk and part, then where they write
	records vec[textRecord]
	ends    []int
}

// partTexts is hashParts for texts.
func partTexts[T int32 | int64, S float64 | int64](t *tallying[S], r *textReader[T], guess int64) (done bool, err error) {
	p := &textParts[T, S]{tallying: t, r: r, skip: 4}
	for guess>>p.skip > 1<<12 && p.skip < 11 {
		p.skip++
	}
	parts := 1 << p.skip
	p.ends = make([]int, parts+1)
	if p.counts, err = newVec[uint32](t.a, 64*parts); err != nil {
		return false, err
	}
	defer func() {
		t.a.drop(p.counts.b)
		t.a.drop(p.records.b)
	}()
	tables := make([]textTable[S], parts)
	for from, step := int64(0), max(roundRows, 4*guess); from < t.n; from += step {
		err := p.split(from, min(from+step, t.n))
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
			h, records := &tables[part], p.records.s[p.ends[part]:p.ends[part+1]]
			if h.slots.b == nil {
				if err := h.reset(t.a, slotsFor(min(int64(len(records)), guess>>p.skip*9/8))); err != nil {
					return err
				}
			}
			return p.foldPart(h, records)
		})
		if err != nil {
			return false, err
		}
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

// split makes the records of rows from to to, as tallyParts.split does.
func (p *textParts[T, S]) split(from, to int64) error {
	chunks, parts := max(1, min(64, morsels(to-from))), 1<<p.skip
	clear(p.counts.s)
	err := p.eachStep(from, to, chunks, func(c int, b *tallyBatch[S], n int) {
		counts, back := p.counts.s[c*parts:][:parts], 64-p.skip
		highs := b.high[:n]
		for j, low := range b.low[:n] {
			counts[mixText(low, highs[j])>>(back&63)&uint64(len(counts)-1)]++
		}
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
	if cap(p.records.s) < sum {
		p.a.drop(p.records.b)
		if p.records, err = newVec[textRecord](p.a, sum); err != nil {
			return err
		}
	}
	records := p.records.s[:sum]
	return p.eachStep(from, to, chunks, func(c int, b *tallyBatch[S], n int) {
		next, back := p.counts.s[c*parts:][:parts], 64-p.skip
		sums, incs := p.loadValues(b)
		values, highs := bitsOf(sums)[:n], b.high[:n]
		for j, low := range b.low[:n] {
			high := highs[j]
			at := &next[mixText(low, high)>>(back&63)&uint64(len(next)-1)]
			if p.valid != nil {
				high |= ^incs[j] >> 32 << 63
			}
			records[*at] = textRecord{low, high, values[j]}
			*at++
		}
	})
}

// eachStep calls f for steps of rows, whose texts are in b, chunk by chunk.
func (p *textParts[T, S]) eachStep(first, last int64, chunks int, f func(c int, b *tallyBatch[S], n int)) error {
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
			if !p.r.read(from, n, b.low[:], b.high[:]) {
				return errLong
			}
			b.span(from, n)
			f(c, b, n)
			from += int64(n)
		}
		return nil
	})
}

// foldPart adds the records of a part to its table.
func (p *textParts[T, S]) foldPart(h *textTable[S], records []textRecord) error {
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
		h.foldRecords(b, records[:n], p.skip)
		records = records[n:]
	}
	return nil
}

func (h *textTable[S]) foldRecords(b *tallyBatch[S], records []textRecord, skip uint) {
	slots, shift, mask := h.slots.s, h.shift, uint64(len(h.slots.s)-1)
	for j := range records {
		r := &records[j]
		high := r.high &^ noValue
		i := mixText(r.low, high) << (skip & 63) >> (shift & 63)
		i += differs(slots[i&mask].low^r.low|slots[i&mask].high^high, 0)
		i += differs(slots[i&mask].low^r.low|slots[i&mask].high^high, 0)
		b.heads[j&(tallyStep-1)] = uint32(i)
	}
	for j := range records {
		r := &records[j]
		high := r.high &^ noValue
		s := &slots[uint64(b.heads[j&(tallyStep-1)])&mask]
		if s.low != r.low || s.high != high || s.counts == 0 {
			s = h.find(mixText(r.low, high)<<(skip&63)>>(shift&63), r.low, high)
		}
		s.sum += valueOf[S](r.value)
		s.counts += oneRow + ^r.high>>63<<32
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
