package cpu

import (
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
func (h *joinHalf) makeBlocks(a *arena, parts int, per uint) (err error) {
	h.per, h.blocks = per, make([]vec[joinRecord], (parts-1)>>per+1)
	usual := h.ends[parts] << per / parts
	h.room = usual + usual/32 + 1
	for b := range h.blocks {
		rows := h.ends[min(parts, (b+1)<<per)] - h.ends[b<<per]
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
