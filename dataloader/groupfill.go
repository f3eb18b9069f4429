package dataloader

import (
	"math/bits"
	"sort"
	"unsafe"

	"github.com/volley-go/volley/internal/bitpack"
)

const (
	// pickRows is how many rows are laid out at a time at most.
	pickRows = 4096
	// pickColumns is how many columns are picked before they are laid by rows: their
	// values are a line of the cache then.
	pickColumns = 16
	pickLine    = pickRows + bitpack.PickRoom
)

// picker is what a processor reads units in.
type picker struct {
	room    *scratch
	apart   uint32   // a place that no group has
	at      []uint32 // where the rows of a unit go, those that are not marked apart
	marks   []uint64 // a bit for each row of a unit that is marked
	mask    []uint64 // what is marked of a chunk
	twice   []again
	columns [bitpack.Together]*uint32
	// Of columns that are not laid out from where they lie:
	words  []uint32 // what is picked of some
	places []uint32 // where the rows go that are marked
	listed []int64  // which these are; empty before they are listed
	stage  []byte   // rows of a block, of parts that are no words
}

// again is a row of which a group has one already: it is copied from place to place.
type again struct{ to, from uint32 }

func newPicker(a *groups, number int) *picker {
	rows := 1 << a.shift
	p := &picker{apart: uint32(a.blocks*blockPlaces) + uint32(number), at: make([]uint32, rows), marks: make([]uint64, rows/64+bitpack.SpreadRoom), mask: make([]uint64, rows/64+bitpack.SpreadRoom)}
	if !a.spread {
		p.words, p.places, p.listed = make([]uint32, pickColumns*pickLine), make([]uint32, pickRows), make([]int64, 0, pickRows)
	}
	for _, t := range a.tiles {
		if t != nil && t.width != 4*t.columns {
			p.stage = make([]byte, max(int64(len(p.stage)), blockRows*t.width))
		}
	}
	return p
}

// spreads reports whether some columns are laid out from where they lie: words without
// nulls.
func spreads(columns []openColumn) bool {
	for i := range columns {
		if columns[i].words == nil || columns[i].nulls().bitmaps != nil {
			return false
		}
	}
	return bitpack.Best().Spreads()
}

// allSpread reports whether all columns that are laid out are so from where they lie.
func (a *groups) allSpread() bool {
	for i, t := range a.tiles {
		if t == nil {
			continue
		}
		if t.width != 4*t.columns {
			return false
		}
		for c := int64(0); c < t.columns; c += pickColumns {
			if !spreads(a.reader.parts[i].columns[c:min(c+pickColumns, t.columns)]) {
				return false
			}
		}
	}
	return true
}

// read lays out the rows of a unit that open groups have.
func (a *groups) read(p *picker, unit int64, open []*group) {
	clear(p.marks)
	p.twice = p.twice[:0]
	p.at[0] = p.apart
	for n := 1; n < len(p.at); n *= 2 {
		copy(p.at[n:], p.at[:n])
	}
	for _, g := range open {
		g.mark(p, unit)
	}
	a.spreadUnit(p, unit<<a.shift)
	if !a.spread {
		a.pickUnit(p, unit<<a.shift)
	}
	for _, t := range a.tiles {
		if t == nil {
			continue
		}
		bytes, w := t.buffer.Bytes(), t.width
		for _, c := range p.twice {
			copy(bytes[int64(c.to)*w:][:w], bytes[int64(c.from)*w:])
		}
	}
}

// spreadUnit lays out columns from where they lie, of the rows from one on.
func (a *groups) spreadUnit(p *picker, first int64) {
	r := a.reader
	last := min(first+1<<a.shift, r.rows)
	chunk := r.chunkOf(first)
	for from := first; from < last; chunk++ {
		end := min(last, r.starts[chunk+1])
		if end == from {
			continue // of no rows
		}
		mask := p.masked(p.marks, from-first)
		for i, t := range a.tiles {
			if t == nil || t.width != 4*t.columns {
				continue
			}
			for c := int64(0); c < t.columns; c += pickColumns {
				columns := r.parts[i].columns[c:min(c+pickColumns, t.columns)]
				if !spreads(columns) {
					continue
				}
				for k := range p.columns {
					p.columns[k] = (*uint32)(unsafe.Add(columns[min(k, len(columns)-1)].words[chunk], 4*(from-r.starts[chunk])))
				}
				bitpack.Best().Spread(view[uint32](t.buffer.Bytes())[c:], int(t.columns), p.at[from-first:end-first], &p.columns, mask, len(columns))
			}
		}
		from = end
	}
}

// masked is marks from one on.
func (p *picker) masked(marks []uint64, from int64) []uint64 {
	marks = marks[from>>6:]
	shift := uint(from & 63)
	if shift == 0 {
		return marks
	}
	for i := range marks {
		p.mask[i] = marks[i] >> shift
		if i+1 < len(marks) {
			p.mask[i] |= marks[i+1] << (64 - shift)
		}
	}
	return p.mask[:len(marks)]
}

// pickUnit lays out the other columns.
func (a *groups) pickUnit(p *picker, first int64) {
	for from, words := 0, len(p.marks)-bitpack.SpreadRoom; from < words; {
		to, n := from, 0
		for ; to < words && n+bits.OnesCount64(p.marks[to]) <= pickRows; to++ {
			for word, at := p.marks[to], to<<6; word != 0; word &= word - 1 {
				p.places[n] = p.at[at+bits.TrailingZeros64(word)]
				n++
			}
		}
		if n > 0 {
			a.pickRows(p, first+int64(from)<<6, p.marks[from:to], p.places[:n])
		}
		from = to
	}
}

// list lists the rows that are marked, from row first on.
func (p *picker) list(first int64, marks []uint64) []int64 {
	if len(p.listed) > 0 {
		return p.listed
	}
	for i, word := range marks {
		for at := first + int64(i)<<6; word != 0; word &= word - 1 {
			p.listed = append(p.listed, at+int64(bits.TrailingZeros64(word)))
		}
	}
	return p.listed
}

// mark marks the rows of a group in a unit.
func (g *group) mark(p *picker, unit int64) {
	number := int64(g.first[unit]) - g.base
	if number < 0 {
		number += g.count
	}
	locals := g.locals[g.first[unit]:g.first[unit+1]]
	for len(locals) > 0 {
		n := min(blockPlaces-int(number)&(blockPlaces-1), len(locals))
		place := g.blocks[number>>blockShift]<<blockShift | uint32(number)&(blockPlaces-1)
		for _, l := range locals[:n] {
			word, bit := &p.marks[l>>6], uint64(1)<<(l&63)
			if *word&bit == 0 {
				*word |= bit
				p.at[l] = place
			} else {
				p.twice = append(p.twice, again{place, p.at[l]})
			}
			place++
		}
		locals, number = locals[n:], number+int64(n)
	}
}

// pickRows lays out the rows that are marked, from row first on, in their places.
func (a *groups) pickRows(p *picker, first int64, marks []uint64, places []uint32) {
	p.listed = p.listed[:0]
	r := a.reader
	for i, t := range a.tiles {
		if t == nil {
			continue
		}
		columns := r.parts[i].columns[:t.columns]
		if t.width == 4*t.columns {
			r.pick(p, first, marks, places, columns, view[uint32](t.buffer.Bytes()))
			continue
		}
		for rows, to := p.list(first, marks), places; len(rows) > 0; {
			k := min(blockRows, len(rows))
			local, chunk := r.locate(rows[:k], p.room)
			for c := range columns {
				columns[c].gather(p.stage, int64(c), t.columns, local, chunk)
				columns[c].mark(p.stage, nil, int64(c), t.columns, local, chunk)
			}
			for j, place := range to[:k] {
				copy(t.buffer.Bytes()[int64(place)*t.width:][:t.width], p.stage[int64(j)*t.width:])
			}
			rows, to = rows[k:], to[k:]
		}
	}
}

// pick lays out columns of 4 bytes: those of words as they are read from end to end,
// which costs less than to go from one row to the next that is marked, and others row
// by row.
func (r *tableReader) pick(p *picker, first int64, marks []uint64, places []uint32, columns []openColumn, dst []uint32) {
	loops, chunk := bitpack.Best(), r.chunkOf(first)
	for c := 0; c < len(columns); c += pickColumns {
		group := columns[c:min(c+pickColumns, len(columns))]
		if spreads(group) {
			continue
		}
		for k := range group {
			words := p.words[k*pickLine:][:pickLine]
			w, ok := group[k].gatherer.(wordColumn)
			if ok = ok && w.words(0) != nil; ok {
				r.pickColumn(p, w, chunk, first, marks, words)
			}
			if !ok || group[k].nulls().bitmaps != nil {
				r.gatherWords(p, group[k].gatherer, p.list(first, marks), words, ok)
			}
		}
		loops.Placed(dst[c:], len(columns), places, p.words[:], pickLine, len(group), len(places))
	}
}

// pickColumn picks what is marked of a column of words, from a row on, whose chunk is
// given.
func (r *tableReader) pickColumn(p *picker, w wordColumn, chunk int, from int64, marks []uint64, words []uint32) {
	last := min(from+int64(len(marks))<<6, r.rows)
	for first := from; first < last; chunk++ {
		end := min(last, r.starts[chunk+1])
		if end == first {
			continue // of no rows
		}
		mask := p.masked(marks, first-from)
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
