package dataloader

import "unsafe"

// runRows is how many rows of a run are worked on at a time: some lines of each
// column, and a part of a row-major tensor that stays in the first-level cache
// beside them.
const runRows = 64

// runner is a gatherer that reads rows that follow each other without a list of
// them.
type runner interface {
	// run writes n values of a chunk from row first on to the elements at, at+step, …
	// of dst.
	run(dst []byte, at, step int64, chunk int32, first, n int64)
}

// isRun reports whether rows follow each other in one chunk.
func isRun(rows []int64, chunk []int32) bool {
	for i, r := range rows {
		if r != rows[0]+int64(i) || chunk != nil && chunk[i] != chunk[0] {
			return false
		}
	}
	return len(rows) > 0
}

// gatherRun gathers a run of rows of the columns that have no encoding, into a
// tensor of which element at is that of the first row and column 0.
func gatherRun(columns []openColumn, dst []byte, at, rowStride, columnStride int64, rows []int64, chunk []int32) {
	number := int32(0)
	if chunk != nil {
		number = chunk[0]
	}
	for len(rows) > 0 {
		n := min(runRows, len(rows))
		for c := 0; c < len(columns); c++ {
			g := &columns[c]
			k := at + g.first*columnStride
			if g.encoded != nil {
				continue
			}
			if columnStride == 1 && len(columns)-c >= turnColumns && turned(columns[c:c+turnColumns], dst, k, rowStride, number, rows[0], int64(n)) {
				c += turnColumns - 1
				continue
			}
			if r, ok := g.gatherer.(runner); ok {
				r.run(dst, k, rowStride, number, rows[0], int64(n))
				continue
			}
			if chunk == nil {
				g.gather(dst, k, rowStride, rows[:n], nil)
			} else {
				g.gather(dst, k, rowStride, rows[:n], chunk[:n])
			}
		}
		rows, at = rows[n:], at+int64(n)*rowStride
		if chunk != nil {
			chunk = chunk[n:]
		}
	}
}

// turnColumns is how many columns are turned into rows together: their values
// are half a line of the cache when they are of 4 bytes, and a processor has
// registers for where they lie.
const turnColumns = 8

// wordColumn is a gatherer whose values go to elements as they are.
type wordColumn interface {
	// words is the values of a chunk, nil where they are of another size or are cast.
	words(chunk int32) []uint32
}

// turned writes values of some columns from row first on into rows whose elements
// lie beside each other, and reports false where they are no words.
func turned(columns []openColumn, dst []byte, at, rowStride int64, chunk int32, first, n int64) bool {
	var from [turnColumns][]uint32
	if !wordsOf(columns, chunk, &from) {
		return false
	}
	for c := range from {
		from[c] = from[c][first : first+n]
	}
	d := view[uint32](dst)[at:]
	c0, c1, c2, c3, c4, c5, c6, c7 := from[0], from[1], from[2], from[3], from[4], from[5], from[6], from[7]
	c1, c2, c3, c4, c5, c6, c7 = c1[:len(c0)], c2[:len(c0)], c3[:len(c0)], c4[:len(c0)], c5[:len(c0)], c6[:len(c0)], c7[:len(c0)]
	for i, x := range c0 {
		to := (*[turnColumns]uint32)(d[int64(i)*rowStride:])
		to[0], to[1], to[2], to[3], to[4], to[5], to[6], to[7] = x, c1[i], c2[i], c3[i], c4[i], c5[i], c6[i], c7[i]
	}
	return true
}

// wordsOf finds the words of some columns, and reports false where they have none.
func wordsOf(columns []openColumn, chunk int32, from *[turnColumns][]uint32) bool {
	for c := range from {
		g, ok := columns[c].gatherer.(wordColumn)
		if !ok || columns[c].encoded != nil {
			return false
		}
		if from[c] = g.words(chunk); from[c] == nil {
			return false
		}
	}
	return true
}

func (v *values[S, T]) words(chunk int32) []uint32 {
	if _, same := any(v).(*values[S, S]); !same || unsafe.Sizeof(S(0)) != 4 {
		return nil
	}
	s := v.chunks[chunk]
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

func (v *values[S, T]) run(dst []byte, at, step int64, chunk int32, first, n int64) {
	d, src := view[T](dst)[at:], v.chunks[chunk][first:first+n]
	if step == 1 {
		d = d[:len(src)]
		for i, x := range src {
			d[i] = T(x)
		}
		return
	}
	k := int64(0)
	for _, x := range src {
		d[k] = T(x)
		k += step
	}
}
