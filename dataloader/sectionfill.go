package dataloader

import (
	"context"
	"math/bits"
	"sort"
	"sync/atomic"
	"unsafe"

	"github.com/volley-go/volley/internal/bitpack"
)

const (
	// pickRows is how many rows are filled at a time at most.
	pickRows = 4096
	// pickWords is how many words of bits they are from at most, and pickLeast at
	// least. The longer a part of a column is that is read from end to end, the nearer
	// that comes to what memory gives: parts of 4096 rows are read at 35 GB/s where
	// those of 16,384 are at 46, and those of 65,536 at 57.
	pickWords = 1024
	pickLeast = pickRows / 64
	// pickColumns is how many columns are picked before they are laid by rows: their
	// values are a line of the cache then.
	pickColumns = 16
	pickLine    = pickRows + bitpack.PickRoom
)

// picker is what a processor fills a section in.
type picker struct {
	room  *scratch
	words [pickColumns * pickLine]uint32 // what is picked of some columns
	rows  [pickRows]int64                // what is marked, for columns that are no words
	mask  [pickWords]uint64              // what is marked of a chunk
}

// fillSection lays out the rows that are marked. It reports false where they
// cannot be read.
func (r *tableReader) fillSection(ctx context.Context, s *section) bool {
	var next atomic.Int64
	var bad atomic.Bool
	words := int64(len(s.words))
	claim := s.claim()
	r.beside(func() {
		p, ok := r.pickers.Get().(*picker)
		if !ok {
			p = new(picker)
		}
		defer r.pickers.Put(p)
		p.room = r.borrow()
		defer r.giveBack(p.room)
		for ctx.Err() == nil {
			from := (next.Add(1) - 1) * claim
			if from >= words {
				return
			}
			for to := min(from+claim, words); from < to; {
				end := s.end(from, to)
				r.fillWords(p, s, from, end)
				from = end
			}
		}
	}, &bad)
	return !bad.Load()
}

// claim is how many words of bits a processor takes at a time: as many as have rows for
// one filling mostly, and fewer where some processors would have nothing to do.
func (s *section) claim() int64 {
	words, marked := int64(len(s.words)), int64(s.marked)
	most := min(pickWords, words/int64(4*processors()), words*pickRows*9/10/max(1, marked))
	return max(most, pickLeast)
}

// end is behind which word, of those from one to another, no more rows than can be
// filled at a time are marked.
func (s *section) end(from, to int64) int64 {
	for to-from > pickLeast {
		behind := s.marked
		if to < int64(len(s.words)) {
			behind = s.before[to]
		}
		if behind-s.before[from] <= pickRows {
			break
		}
		to = from + max(pickLeast, (to-from)/2)
	}
	return to
}

// fillWords lays out the rows that some words have bits of.
func (r *tableReader) fillWords(p *picker, s *section, from, to int64) {
	at, n := int64(s.before[from]), 0
	for i, word := range s.words[from:to] {
		for first := (from + int64(i)) << 6; word != 0; word &= word - 1 {
			p.rows[n] = first + int64(bits.TrailingZeros64(word))
			n++
		}
	}
	for i, t := range s.tiles {
		if t == nil {
			continue
		}
		columns := r.parts[i].columns[:t.columns]
		if t.width == 4*t.columns {
			r.pick(p, s, from, to, p.rows[:n], columns, view[uint32](t.buffer.Bytes())[at*t.columns:])
			continue
		}
		for rest, at := p.rows[:n], at*t.columns; len(rest) > 0; {
			k := min(blockRows, len(rest))
			local, chunk := r.locate(rest[:k], p.room)
			for c := range columns {
				columns[c].gather(t.buffer.Bytes(), at+int64(c), t.columns, local, chunk)
				columns[c].mark(t.buffer.Bytes(), nil, at+int64(c), t.columns, local, chunk)
			}
			rest, at = rest[k:], at+int64(k)*t.columns
		}
	}
}

// pick lays out columns of 4 bytes: those of words as they are read from end to end,
// which costs less than to go from one row to the next that is marked, and others row
// by row.
func (r *tableReader) pick(p *picker, s *section, from, to int64, rows []int64, columns []openColumn, dst []uint32) {
	if len(rows) == 0 {
		return
	}
	loops, chunk := bitpack.Best(), r.chunkOf(from<<6)
	for c := 0; c < len(columns); c += pickColumns {
		group := columns[c:min(c+pickColumns, len(columns))]
		for k := range group {
			words := p.words[k*pickLine:][:pickLine]
			w, ok := group[k].gatherer.(wordColumn)
			if ok = ok && w.words(0) != nil; ok {
				r.pickColumn(p, s, w, chunk, from, to, words)
			}
			if !ok || group[k].nulls().bitmaps != nil {
				r.gatherWords(p, group[k].gatherer, rows, words, ok)
			}
		}
		loops.Rows(dst[c:], len(columns), p.words[:], pickLine, len(group), len(rows))
	}
}

// pickColumn picks what is marked of a column of words, whose chunk of the first row is
// given.
func (r *tableReader) pickColumn(p *picker, s *section, w wordColumn, chunk int, from, to int64, words []uint32) {
	last := min(to<<6, r.rows)
	for first := from << 6; first < last; chunk++ {
		end := min(last, r.starts[chunk+1])
		if end == first {
			continue // of no rows
		}
		mask := s.words[first>>6 : to]
		if shift := uint(first & 63); shift > 0 {
			for i := range mask {
				p.mask[i] = mask[i] >> shift
				if i+1 < len(mask) {
					p.mask[i] |= mask[i+1] << (64 - shift)
				}
			}
			mask = p.mask[:len(mask)]
		}
		start := r.starts[chunk]
		words = words[bitpack.Best().Pick(words, w.words(int32(chunk))[first-start:end-start], mask):]
		first = end
	}
}

// gatherWords gathers a column, or only marks its nulls.
func (r *tableReader) gatherWords(p *picker, g gatherer, rows []int64, words []uint32, marks bool) {
	to, at := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 4*len(words)), int64(0)
	for len(rows) > 0 {
		k := min(blockRows, len(rows))
		local, chunk := r.locate(rows[:k], p.room)
		if !marks {
			g.gather(to, at, 1, local, chunk)
		}
		g.mark(to, nil, at, 1, local, chunk)
		rows, at = rows[k:], at+int64(k)
	}
}

// chunkOf is the chunk of a row, which is there.
func (r *tableReader) chunkOf(row int64) int {
	return sort.Search(len(r.starts)-2, func(i int) bool { return r.starts[i+1] > row })
}
