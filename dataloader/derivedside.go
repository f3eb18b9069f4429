package dataloader

import "unsafe"

// derivedRoom is what one batch is made in: the tensors of the source, and those of the
// expressions.
type derivedRoom struct {
	numberRoom
	of     *derivedReader
	made   []Tensor
	to     []Tensor
	own    []int64
	blocks [][]byte
	masks  [][]byte
}

// sides say where the columns of a part come from: which of inner and of parts,
// each -1 where the part has none of those, and in which runs they lie.
type sides struct {
	inner, made int
	runs        []sideRun
}

// sideRun is columns of a part that follow each other in it and in its half.
type sideRun struct {
	made        bool
	at, from, n int64 // in columns of the tensors
}

// split makes of a part one of the source and one of the derived columns.
func (r *derivedReader) split(p Part) {
	like := Part{Type: p.Type, ColumnMajor: p.ColumnMajor, Mask: p.Mask}
	inner, made, h := like, like, sides{inner: -1, made: -1}
	at := int64(0)
	for i, c := range p.Columns {
		half, column := &inner, 0
		isMade := c >= len(r.of.kept)
		if isMade {
			half, column = &made, c-len(r.of.kept)
		} else {
			column = r.of.kept[c]
		}
		from, n := half.elements(), p.encoding(i).elements()
		half.add(column, p.encoding(i))
		if last := len(h.runs) - 1; last >= 0 && h.runs[last].made == isMade {
			h.runs[last].n += n
		} else {
			h.runs = append(h.runs, sideRun{isMade, at, from, n})
		}
		at += n
	}
	if len(inner.Columns) > 0 {
		h.inner = len(r.inner)
		r.inner = append(r.inner, inner)
	}
	if len(made.Columns) > 0 {
		h.made = len(r.parts)
		r.parts = append(r.parts, made)
	}
	r.places = append(r.places, h)
}

// tensor is room for a half of so many rows.
func (o *derivedRoom) tensor(i int, p *Part, rows int64) Tensor {
	data, mask := p.bytes(rows)
	if int64(len(o.blocks[i])) < data {
		o.blocks[i] = alignedBytes(data)
	}
	if int64(len(o.masks[i])) < mask {
		o.masks[i] = make([]byte, mask)
	}
	return p.over(rows, o.blocks[i], o.masks[i], nil)
}

// alignedBytes is n bytes that numbers of any type may lie in.
func alignedBytes(n int64) []byte {
	words := alignedNumbers(ceil(n, 8))
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// copyColumns copies n columns from one tensor, of the same rows and layout, to
// another.
func copyColumns(to, from *Tensor, at, first, n int64) {
	e := widthOf(to.Type)
	if to.ColumnStride != 1 { // whole columns follow each other
		at, first, n = at*to.ColumnStride, first*from.ColumnStride, n*to.ColumnStride
		copy(to.Data[at*e:(at+n)*e], from.Data[first*e:])
		if to.Valid != nil {
			copy(to.Valid[at:at+n], from.Valid[first:])
		}
		return
	}
	for range to.Rows {
		copy(to.Data[at*e:(at+n)*e], from.Data[first*e:])
		if to.Valid != nil {
			copy(to.Valid[at:at+n], from.Valid[first:])
		}
		at, first = at+to.RowStride, first+from.RowStride
	}
}
