package cpu

import (
	"context"
	"unsafe"

	"github.com/volley-go/volley/device"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// joinHalf is one side of a join of columns, and its records, part by part in
// the order of rows.
type joinHalf struct {
	kernels.JoinSide
	n       int64
	key     *memory.Column
	carried *memory.Column // whose values records carry; nil where that is row numbers
	numbers bool           // somebody needs row numbers
	blocks  []vec[joinRecord]
	ends    []int // of each part, from the second on; where the first begins before
	per     uint  // the logarithm of how many parts a block has
	room    int   // rows of a block, where hashes are spread evenly
}

func newJoinHalf(side kernels.JoinSide) *joinHalf {
	h := &joinHalf{JoinSide: side, key: side.Keys[0], n: side.Keys[0].Len()}
	h.key.Retain()
	for _, c := range h.Columns {
		c.Retain()
		switch {
		case c == h.key || c == h.carried:
		case h.carried == nil && !h.numbers && carriable(c):
			h.carried = c
		default:
			h.carried, h.numbers = nil, true
		}
	}
	return h
}

func (h *joinHalf) release() {
	if h.key != nil {
		h.key.Release()
		releaseAll(h.Columns)
		h.key, h.Columns = nil, nil
	}
}

// carriable says that a value is a word of its own.
func carriable(c *memory.Column) bool {
	return memory.LayoutOf(c.Type()) == memory.LayoutFixed && memory.Width(c.Type()) <= 8 && !hasNulls(c)
}

// part is the records of a part.
func (h *joinHalf) part(part int) []joinRecord {
	begin := h.ends[part>>h.per<<h.per]
	return h.blocks[part>>h.per].s[h.ends[part]-begin : h.ends[part+1]-begin]
}

// drop gives a block back.
func (h *joinHalf) drop(a *arena, block int) {
	a.drop(h.blocks[block].b)
	h.blocks[block] = vec[joinRecord]{}
}

// makeBlocks makes room for the records of all parts. Blocks of about the usual
// size are of the same one, so that what is given back of them is room for the
// results (joinOut.more).
func (h *joinHalf) makeBlocks(a *arena, cut, blocks uint) (err error) {
	h.per, h.blocks = cut-blocks, make([]vec[joinRecord], 1<<blocks)
	usual := h.ends[len(h.ends)-1] >> blocks
	h.room = usual + usual/32 + 1
	for b := range h.blocks {
		rows := h.ends[(b+1)<<h.per] - h.ends[b<<h.per]
		size := rows
		if rows <= h.room && rows > usual-usual/16 {
			size = h.room
		}
		if h.blocks[b], err = newVec[joinRecord](a, size); err != nil {
			return err
		}
	}
	return nil
}

// joinLoad is a run of rows as words and what they carry.
type joinLoad struct {
	lined   *linedRows // where records go by way of lines
	rows    [batchRows]uint32
	words   [batchRows]uint64
	carried [batchRows]uint64
}

// load gives the words of rows [from, from+n) that have a key and, if values are
// wanted, what they carry.
func (h *joinHalf) load(b *joinLoad, from int64, n int, values bool) (words, carried []uint64) {
	words = wordsAt(b.words[:n], h.key, from)
	whole := !hasNulls(h.key)
	if !whole {
		k, valid, at := 0, h.key.Validity(), h.key.Offset()+from
		for i := range n {
			b.words[k], b.rows[k] = words[i], uint32(i)
			if valid.Get(at + int64(i)) {
				k++
			}
		}
		words = b.words[:k]
	}
	if !values {
		return words, nil
	}
	carried = b.carried[:len(words)]
	switch {
	case h.carried == nil && whole:
		for i := range carried {
			carried[i] = uint64(from) + uint64(i)
		}
	case h.carried == nil:
		for i, row := range b.rows[:len(carried)] {
			carried[i] = uint64(from) + uint64(row)
		}
	case whole:
		carried = wordsAt(carried, h.carried, from)
	default:
		all := wordsAt(b.carried[:n], h.carried, from)
		for i, row := range b.rows[:len(carried)] {
			carried[i] = all[row] // row >= i: what is written was read
		}
	}
	return words, carried
}

// wordsAt is the values of a column from row from on as words: the column's own
// memory where they are words, else into.
func wordsAt(into []uint64, c *memory.Column, from int64) []uint64 {
	switch memory.Width(c.Type()) {
	case 8:
		return memory.Values[uint64](c)[from:][:len(into)]
	case 4:
		widenWords(into, memory.Values[uint32](c)[from:])
	case 2:
		widenWords(into, memory.Values[uint16](c)[from:])
	default:
		widenWords(into, memory.Values[uint8](c)[from:])
	}
	return into
}

func widenWords[T uint8 | uint16 | uint32](into []uint64, from []T) {
	for i, v := range from[:len(into)] {
		into[i] = uint64(v)
	}
}

// split makes the records, by the first cut bits of hashes, of which the first ones
// tell the block: one pass that counts, of the keys alone, and one that writes each
// row to the next place of its part.
func (h *joinHalf) split(ctx context.Context, l *loops, a *arena, cut, blocks uint) error {
	parts, chunks := 1<<cut, max(1, min(partChunks, morsels(h.n)))
	back, room := 64-cut, countersRoom(parts, int(h.n)/chunks)
	counts, err := zeroVec[uint32](a, chunks*room)
	if err != nil {
		return err
	}
	defer a.drop(counts.b)
	loads := stash[*joinLoad]{make: func() (*joinLoad, error) { return new(joinLoad), nil }}
	each := func(values bool, begin func(c int, b *joinLoad) (f func(words, carried []uint64), end func())) error {
		return tasks(ctx, chunks, func(_, c int) error {
			b, _ := loads.get()
			defer loads.put(b)
			from, to := h.n*int64(c)/int64(chunks), h.n*int64(c+1)/int64(chunks)
			f, end := begin(c, b)
			defer end()
			for k := 1; from < to; k++ {
				if k%64 == 0 {
					if err := device.Canceled(ctx, "cpu", ""); err != nil {
						return err
					}
				}
				n := min(batchRows, to-from)
				words, carried := h.load(b, from, int(n), values)
				f(words, carried)
				from += n
			}
			return nil
		})
	}
	by := digit{shift: back, mask: uint64(parts - 1)}
	if memory.Width(h.key.Type()) == 8 && !hasNulls(h.key) {
		by.ahead = countAhead // where load reads nothing
	}
	err = each(false, func(c int, _ *joinLoad) (func(words, _ []uint64), func()) {
		to := countersOf(counts.s[c*room:][:room], parts)
		return func(words, _ []uint64) { l.histogram.hashes(to, words, by) }, func() {}
	})
	if err != nil {
		return err
	}
	sumTables(counts.s, chunks, parts)
	h.ends = make([]int, parts+1)
	sum, begin := 0, 0
	for part := range parts {
		if part&(1<<(cut-blocks)-1) == 0 {
			begin = sum
		}
		for c := range chunks {
			at := &counts.s[c*parts+part]
			k := *at
			*at = uint32(sum - begin)
			sum += int(k)
		}
		h.ends[part+1] = sum
	}
	if err := h.makeBlocks(a, cut, blocks); err != nil {
		return err
	}
	bases := make([]*uint64, len(h.blocks)) // one look instead of two, which took a twentieth of the join
	for b := range bases {
		bases[b] = (*uint64)(unsafe.Pointer(unsafe.SliceData(h.blocks[b].s)))
	}
	lined := l.lines.linesRecords(sum, parts, chunks)
	return each(true, func(c int, b *joinLoad) (func(words, carried []uint64), func()) {
		next := counts.s[c*parts:][:parts]
		if lined {
			return h.byLines(l, b, next, bases, back, cut-blocks)
		}
		block := 64 - blocks
		return func(words, carried []uint64) {
			carried = carried[:len(words)]
			for i, w := range words {
				hash := hashWord(w, 0)
				at := &next[hash>>(back&63)]
				*(*joinRecord)(unsafe.Add(unsafe.Pointer(bases[hash>>(block&63)]), uintptr(*at)<<4)) = joinRecord{hash, carried[i]}
				*at++
			}
		}, func() {}
	})
}

// byLines writes a chunk's records by way of lines.
func (h *joinHalf) byLines(l *loops, b *joinLoad, next []uint32, bases []*uint64, back, fold uint) (put func(words, carried []uint64), end func()) {
	if b.lined == nil {
		b.lined = new(linedRows)
	}
	r := b.lined
	r.blocks, r.shift, r.mask, r.fold = bases, back, uint64(len(next)-1), fold
	r.begin(next)
	return func(words, carried []uint64) {
		hashes := r.words[:len(words)]
		for i, w := range words {
			hashes[i] = hashWord(w, 0)
		}
		r.put(&l.lines, hashes, carried)
	}, func() { r.end(&l.lines, next) }
}
