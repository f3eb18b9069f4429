package cpu

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/internal/slots"
	"github.com/volley-go/volley/memory"
)

// shortText is the longest text that two words hold with its length.
const shortText = 15

// mostTextSlots is how many slots a table of short texts may have that is not cut
// into parts, where rows are textRows times as many: 8 MiB, of the third-level cache.
// A record of a text on its way to its part is 24 bytes written and read, which takes
// longer than the misses of a table that a core waits for side by side.
const (
	mostTextSlots = 1 << 18
	textRows      = 16
)

// nullTop is the length that stands for null. The bit above it is that of
// records without a value.
const nullTop = 0x40 << 56

// errLong says that there is a text longer than that.
const errLong = detour("cpu: a text too long to be a word")

// textSlot is a slot of a hash table of short texts: low is the first eight
// bytes, high the rest and, in its last byte, the length.
type textSlot[S float64 | int64] struct {
	low, high uint64
	tally[S]
}

// textTable is tallyTable for texts.
type textTable[S float64 | int64] struct {
	slots vec[textSlot[S]]
	shift uint
	used  int
}

func (h *textTable[S]) reset(a *arena, size int) error {
	h.used, h.shift = 0, uint(64-bits.Len(uint(size)-1))
	return h.slots.resize(a, size)
}

// near is where the table's slots are.
func (h *textTable[S]) near() nearTexts {
	return nearTexts{(*byte)(unsafe.Pointer(unsafe.SliceData(h.slots.s))), uint64(h.shift)}
}

func mixText(low, high uint64) uint64 { return fold128(low^mixA, high^mixB) & slots.Kept }

// find is the slot of a text, a free one made its own where it has none.
func (h *textTable[S]) find(i, low, high uint64) *textSlot[S] {
	mask := uint64(len(h.slots.s) - 1)
	for k := uint64(0); ; k++ {
		s := &h.slots.s[slotOfText(i, k)&mask]
		if s.counts == 0 {
			s.low, s.high = low, high
			h.used++
			return s
		}
		if s.low == low && s.high == high {
			return s
		}
	}
}

// eachHome is that of tallyTable.
func (h *textTable[S]) eachHome(r, parts int, f func(s *textSlot[S])) {
	size := len(h.slots.s)
	step := size / parts
	from, to, free := r*step, (r+1)*step, false
	for i := from; i < from+size; i++ { // beyond to as far as no line has a free slot
		if s := &h.slots.s[i&(size-1)]; s.counts == 0 {
			free = i >= to
		} else if home := int(mixText(s.low, s.high) >> (h.shift & 63)); home >= from && home < to {
			f(s)
		}
		if free && i&1 == 1 {
			return
		}
	}
}

// fold adds the rows whose texts are in b; rows are their numbers where first
// rows are wanted.
func (h *textTable[S]) fold(b *tallyBatch[S], n int, sums []S, incs []uint64, rows []uint32) {
	slots, shift, inc := h.slots.s, h.shift, incOf(rows)
	texts := b.texts[:n]
	lookTexts(slots, texts, b.hashes[:n], &b.heads, shift)
	for j := addTexts(slots, texts, &b.heads, sums, incs, inc, 0); j < n; j = addTexts(slots, texts, &b.heads, sums, incs, inc, j+1) {
		s := h.find(b.hashes[j]>>(shift&63), texts[j][0], texts[j][1])
		if rows != nil {
			s.begin(rows[j])
		}
		s.sum += sums[j]
		if incs == nil {
			s.counts += inc
		} else {
			s.counts += incs[j]
		}
	}
}

// textReader makes words of the texts of a column.
type textReader[T int32 | int64] struct {
	words   func(words [][2]uint64, hashes []uint64, offsets []T, bytes []byte, near nearTexts) bool
	offsets []T
	bytes   []byte
	valid   memory.Bitmap
	at      int64
	null    uint64 // the hash of null
}

func newTextReader[T int32 | int64](l *loops, c *memory.Column) *textReader[T] {
	return &textReader[T]{textWordsOf[T](l), memory.Offsets[T](c), bytesOf(c), c.Validity(), c.Offset(), mixText(0, nullTop)}
}

// read makes words and hashes of rows [from, from+len(words)); false where one is
// too long.
func (r *textReader[T]) read(from int64, words [][2]uint64, hashes []uint64) bool {
	return r.readNear(from, words, hashes, noSlots)
}

// readNear is read where the texts are looked for next in a table.
func (r *textReader[T]) readNear(from int64, words [][2]uint64, hashes []uint64, near nearTexts) bool {
	fit := r.words(words, hashes, r.offsets[from:][:len(words)+1], r.bytes, near)
	if r.valid != nil {
		r.nulls(from, words, hashes)
	}
	return fit
}

// nulls puts the words and the hash of null where rows are null, without a branch
// for a row.
func (r *textReader[T]) nulls(from int64, words [][2]uint64, hashes []uint64) {
	hashes, null := hashes[:len(words)], r.null
	for at := 0; at < len(words); at += 64 {
		n := min(64, len(words)-at)
		valid := r.valid.Word(r.at+from+int64(at), int64(n))
		if valid == allValid>>(64-uint(n)) {
			continue
		}
		h := hashes[at:][:n]
		for j := range h {
			keep, w := -(valid >> uint(j&63) & 1), &words[at+j]
			w[0] &= keep
			w[1] = w[1]&keep | nullTop&^keep
			h[j] = h[j]&keep | null&^keep
		}
	}
}

// texts tallies by a column of short texts; not done where one is long or
// groups are many.
func (t *tallying[S]) texts() (done bool, err error) {
	if t.ks.drop && t.ks.cols[0].nullable {
		return false, nil
	}
	guess := estimateGroups(t.ks, t.n, 0)
	c := t.ks.cols[0].c
	if t.out.large {
		done, err = tallyTexts(t, newTextReader[int64](t.l, c), guess)
	} else {
		done, err = tallyTexts(t, newTextReader[int32](t.l, c), guess)
	}
	return done, err
}

func tallyTexts[T int32 | int64, S float64 | int64](t *tallying[S], r *textReader[T], guess int64) (done bool, err error) {
	size := slotsFor(guess)
	if size > mostSlots/2 && (size > mostTextSlots || textRows*int64(size) > t.n) {
		return partTexts(t, r, guess)
	}
	chunks := max(1, min(64, int64(morsels(t.n)), max(t.n/(16*int64(size)), min(4, t.n/(4*int64(size))))))
	tables := make([]*textTable[S], chunks)
	defer func() {
		for _, h := range tables {
			if h != nil {
				t.a.drop(h.slots.b)
			}
		}
	}()
	rows := (t.n + chunks - 1) / chunks
	err = tasks(t.ctx, int(chunks), func(_, c int) error {
		b, _ := t.rooms.get()
		defer t.rooms.put(b)
		h := &textTable[S]{}
		tables[c] = h
		if err := h.reset(t.a, size); err != nil {
			return err
		}
		from := min(int64(c)*rows, t.n)
		to := min(from+rows, t.n)
		for k := 1; from < to; k++ {
			if k%128 == 0 {
				if err := device.Canceled(t.ctx, "cpu", ""); err != nil {
					return err
				}
			}
			n := int(min(tallyStep, to-from))
			if !r.readNear(from, b.texts[:n], b.hashes[:n], h.near()) {
				return errLong
			}
			if h.used > size*7/10 {
				return errFull
			}
			b.span(from, n)
			sums, incs := t.loadValues(b)
			h.fold(b, n, sums, incs, t.numbers(b))
			from += int64(n)
		}
		return nil
	})
	if errors.Is(err, errFull) { // the sample deceived
		return partTexts(t, r, max(4*guess, t.n/8))
	}
	if errors.Is(err, errLong) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	lists, err := t.mergeTexts(tables, size)
	if err == nil && t.firsts {
		lists, err = byFirst(t.ctx, t.a, t.n, lists)
	}
	if err != nil {
		return false, err
	}
	return true, putTexts[T](t, lists)
}

// mergeTexts makes the groups of all chunks' tables one, range by range of
// their hashes.
func (t *tallying[S]) mergeTexts(tables []*textTable[S], size int) ([]vec[textSlot[S]], error) {
	parts := max(1, size>>13)
	lists := make([]vec[textSlot[S]], parts)
	return lists, tasks(t.ctx, parts, func(_, r int) error {
		n := 0
		for _, h := range tables {
			h.eachHome(r, parts, func(*textSlot[S]) { n++ })
		}
		list, err := newVec[textSlot[S]](t.a, n)
		if err != nil {
			return err
		}
		var all textTable[S]
		if err := all.reset(t.a, slotsFor(int64(n))); err != nil {
			return err
		}
		for _, h := range tables {
			h.eachHome(r, parts, func(s *textSlot[S]) {
				to := all.find(mixText(s.low, s.high)<<uint(bits.Len(uint(parts)-1))>>(all.shift&63), s.low, s.high)
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
		list.s = list.s[:k]
		lists[r] = list
		t.a.drop(all.slots.b)
		return nil
	})
}

// putTexts writes the groups of all lists, one after another.
func putTexts[T int32 | int64, S float64 | int64](t *tallying[S], lists []vec[textSlot[S]]) error {
	starts, places := make([]int, len(lists)+1), make([]int, len(lists)+1)
	for r, list := range lists {
		n := 0
		for i := range list.s {
			if top := list.s[i].high >> 56; top <= shortText {
				n += int(top)
			}
		}
		starts[r+1], places[r+1] = starts[r]+len(list.s), places[r]+n
	}
	n := starts[len(lists)]
	offsets, err := newVec[T](t.a, n+1)
	if err != nil {
		return err
	}
	text, err := newVec[byte](t.a, places[len(lists)])
	if err != nil {
		return err
	}
	nulls := &aggOut{a: t.a, t: t.ks.cols[0].c.Type(), n: n}
	if nulls.nulls, err = zeroVec[uint32](t.a, (n+31)/32); err != nil {
		return err
	}
	for _, f := range t.out.aggs {
		if err := f.out.start(n); err != nil {
			return err
		}
	}
	offsets.s[0] = 0
	err = tasks(t.ctx, len(lists), func(_, r int) error {
		b, _ := t.rooms.get()
		defer t.rooms.put(b)
		at, to := starts[r], places[r]
		var room [16]byte
		for slots := lists[r].s; len(slots) > 0; {
			k := min(tallyStep, len(slots))
			for j := range slots[:k] {
				s := &slots[j]
				b.outs[j] = s.tally
				top := int(s.high >> 56)
				if top > shortText {
					nulls.null(uint32(at + j))
					top = 0
				}
				binary.LittleEndian.PutUint64(room[:], s.low)
				binary.LittleEndian.PutUint64(room[8:], s.high)
				to += copy(text.s[to:], room[:top])
				offsets.s[at+j+1] = T(to)
			}
			t.out.putAggs(at, b.outs[:k])
			at, slots = at+k, slots[k:]
		}
		t.a.drop(lists[r].b)
		return nil
	})
	if err != nil {
		return err
	}
	t.out.whole, err = nulls.text(offsets.b, text.b)
	return err
}
