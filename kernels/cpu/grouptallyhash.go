package cpu

import (
	"errors"
	"math/bits"

	"github.com/volley-go/volley/internal/slots"
)

// mostSlots is how many slots a hash table of tallies may have that is not cut
// into parts: 384 KiB, which a second-level cache holds beside the rows. Random
// accesses to a table beyond it took 20 ns a row on a busy machine, cutting 6.
const mostSlots = 1 << 14

// errFull says that there are more groups than a table was made for.
const errFull = detour("cpu: more groups than expected")

// tallySlot is a slot of a hash table, free while it counts no rows.
type tallySlot[S float64 | int64] struct {
	word uint64
	tally[S]
}

// tallyTable is open addressing with linear probing, begun at the first bits
// of a word's hash: the slots are in the order of hashes, so that tables can be
// merged range by range. It is not made larger.
type tallyTable[S float64 | int64] struct {
	slots vec[tallySlot[S]]
	shift uint
	used  int

	firsts vec[uint32] // of each group, numbered above its counts, its first record, then row
	known  int         // those of which the row is known
}

// slotsFor is the size of a table of about so many groups.
func slotsFor(groups int64) int {
	size := 1 << 10
	for int64(size)*6/10 < groups {
		size *= 2
	}
	return max(slots.First(size), 4*tallyStep)
}

func (h *tallyTable[S]) reset(a *arena, size int) error {
	h.used, h.shift = 0, uint(64-bits.Len(uint(size)-1))
	return h.slots.resize(a, size)
}

// full says that a table may have no room for another step.
func (h *tallyTable[S]) full() bool { return h.used > len(h.slots.s)*7/10 }

// fold adds rows to the tallies of their words less base; rows are their numbers
// where first rows are wanted.
func (h *tallyTable[S]) fold(b *tallyBatch[S], words []uint64, base uint64, sums []S, incs []uint64, rows []uint32) error {
	runs := inRuns(words)
	for len(words) > 0 {
		n := min(tallyStep, len(words))
		if h.full() {
			return errFull
		}
		var some []uint64
		if incs != nil {
			some, incs = incs[:n], incs[n:]
		}
		var numbers []uint32
		if rows != nil {
			numbers, rows = rows[:n], rows[n:]
		}
		if runs && numbers == nil {
			h.foldRuns(words[:n], base, sums[:n], some)
		} else {
			h.foldStep(b, words[:n], base, sums[:n], some, numbers)
		}
		words, sums = words[n:], sums[n:]
	}
	return nil
}

// differs is 1 or 0, without a branch.
func differs(a, b uint64) uint64 {
	if a != b {
		return 1
	}
	return 0
}

// foldStep first looks for the slots, without a branch that could be foretold
// wrongly: in the first three of each search, where nearly all are. The reads
// that miss the caches so go on side by side.
func (h *tallyTable[S]) foldStep(b *tallyBatch[S], words []uint64, base uint64, sums []S, incs []uint64, rows []uint32) {
	slots, shift, mask := h.slots.s, h.shift, uint64(len(h.slots.s)-1)
	for j, w := range words {
		i := mix(w-base) >> (shift & 63)
		i += differs(slots[i&mask].word, w-base)
		i += differs(slots[i&mask].word, w-base)
		b.heads[j&(tallyStep-1)] = uint32(i)
	}
	sums = sums[:len(words)]
	inc := incOf(rows)
	for j, w := range words {
		w -= base
		s := &slots[uint64(b.heads[j&(tallyStep-1)])&mask]
		if s.word != w || s.counts == 0 {
			s = h.find(mix(w)>>(shift&63), w)
			if rows != nil {
				s.begin(rows[j])
			}
		}
		s.sum += sums[j]
		if incs == nil {
			s.counts += inc
		} else {
			s.counts += incs[j]
		}
	}
}

func (h *tallyTable[S]) foldRuns(words []uint64, base uint64, sums []S, incs []uint64) {
	for j := 0; j < len(words); {
		w := words[j] - base
		s := h.find(mix(w)>>(h.shift&63), w)
		s.tally, j = foldRun(s.tally, words, j, sums, incs)
	}
}

// find is the slot of a word, a free one made its own where it has none.
func (h *tallyTable[S]) find(i, w uint64) *tallySlot[S] {
	mask := uint64(len(h.slots.s) - 1)
	for {
		s := &h.slots.s[i&mask]
		if s.counts == 0 {
			s.word = w
			h.used++
			return s
		}
		if s.word == w {
			return s
		}
		i++
	}
}

// eachHome calls f for the slots whose search begins in part r of all parts,
// in the order of slots.
func (h *tallyTable[S]) eachHome(r, parts int, f func(s *tallySlot[S])) {
	size := len(h.slots.s)
	step := size / parts
	from, to := r*step, (r+1)*step
	for i := from; i < from+size; i++ { // beyond to as far as it is not free
		s := &h.slots.s[i&(size-1)]
		if s.counts == 0 {
			if i >= to {
				return
			}
			continue
		}
		if home := int(mix(s.word) >> (h.shift & 63)); home >= from && home < to {
			f(s)
		}
	}
}

// hashed tallies in hash tables, or in parts of them where there are many groups.
func (t *tallying[S]) hashed() (done bool, err error) {
	sample := sampleWords(t.ks, t.n)
	guess, hot := t.sampled(sample)
	sample.free()
	size := slotsFor(guess)
	spare := t.valid == nil || t.ks.card != 0 && t.ks.card <= noValue // the top bit
	if size > mostSlots && t.firsts && 8*guess > t.n {
		return false, nil // first rows are all over the rows, and groups take more memory than numbers
	}
	if size > mostSlots && spare {
		if skip, ok := t.sieves(guess); ok && hot == nil {
			if err := t.hashRanges(guess, skip); !errors.Is(err, errFull) {
				return err == nil, err
			}
			guess = max(4*guess, t.n/8)
		}
		return t.hashParts(guess, hot)
	}
	if size > 1<<18 {
		return false, nil
	}
	chunks := max(1, min(64, int64(morsels(t.n)), max(t.n/(16*int64(size)), min(4, t.n/(4*int64(size))))))
	tables := make([]*tallyTable[S], chunks)
	defer func() {
		for _, h := range tables {
			if h != nil {
				t.a.drop(h.slots.b)
			}
		}
	}()
	err = t.eachChunk(0, t.n, chunks, func(c int) (tallyFold[S], error) {
		h := &tallyTable[S]{}
		tables[c] = h
		return func(b *tallyBatch[S], words []uint64, sums []S, incs []uint64) error {
			return h.fold(b, words, t.base, sums, incs, t.numbers(b))
		}, h.reset(t.a, size)
	})
	if errors.Is(err, errFull) { // the sample deceived
		if !spare || t.firsts {
			return false, nil
		}
		return t.hashParts(max(4*guess, t.n/8), hot)
	}
	if err != nil {
		return false, err
	}
	return true, t.mergeTables(tables, size)
}

// mergeTables makes the groups of all chunks' tables one, range by range of
// their hashes.
func (t *tallying[S]) mergeTables(tables []*tallyTable[S], size int) error {
	parts := max(1, size>>13)
	lists := make([]vec[tallySlot[S]], parts)
	err := tasks(t.ctx, parts, func(_, r int) error {
		n := 0
		for _, h := range tables {
			h.eachHome(r, parts, func(*tallySlot[S]) { n++ })
		}
		list, err := newVec[tallySlot[S]](t.a, n)
		if err != nil {
			return err
		}
		if lists[r] = list; len(tables) == 1 {
			k := 0
			tables[0].eachHome(r, parts, func(s *tallySlot[S]) {
				list.s[k] = *s
				k++
			})
			return nil
		}
		var all tallyTable[S]
		if err := all.reset(t.a, slotsFor(int64(n))); err != nil {
			return err
		}
		for _, h := range tables {
			h.eachHome(r, parts, func(s *tallySlot[S]) {
				to := all.find(mix(s.word)<<uint(bits.Len(uint(parts)-1))>>(all.shift&63), s.word)
				to.add(s.tally, t.firsts)
			})
		}
		k := 0
		for i := range all.slots.s {
			if s := &all.slots.s[i]; s.counts != 0 {
				list.s[k] = *s
				k++
			}
		}
		lists[r].s = list.s[:k]
		t.a.drop(all.slots.b)
		return nil
	})
	if err != nil {
		return err
	}
	return t.putLists(lists)
}

// putLists writes the groups of all lists, one after another, or in the order of
// their first rows.
func (t *tallying[S]) putLists(lists []vec[tallySlot[S]]) (err error) {
	if t.firsts {
		if lists, err = byFirst(t.ctx, t.a, t.n, lists); err != nil {
			return err
		}
	}
	starts := make([]int, len(lists)+1)
	for r, list := range lists {
		starts[r+1] = starts[r] + len(list.s)
	}
	if err := t.out.start(starts[len(lists)]); err != nil {
		return err
	}
	return tasks(t.ctx, len(lists), func(_, r int) error {
		b, _ := t.rooms.get()
		defer t.rooms.put(b)
		t.out.putSlots(b, starts[r], lists[r].s)
		t.a.drop(lists[r].b)
		return nil
	})
}

// putSlots writes the groups of slots that are none of them free.
func (o *tallyOut[S]) putSlots(b *tallyBatch[S], at int, slots []tallySlot[S]) {
	for len(slots) > 0 {
		n := min(tallyStep, len(slots))
		for j := range slots[:n] {
			b.outWords[j], b.outs[j] = slots[j].word, slots[j].tally
		}
		o.put(at, b.outWords[:n], b.outs[:n])
		at, slots = at+n, slots[n:]
	}
}
