package dataloader

import (
	"unsafe"

	"github.com/volley-go/volley/internal/bitpack"
)

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
// tensor of which element at is that of the first row and column 0. Only words are
// turned together: columns that are cast would be written and read once more for it,
// which costs more than stores that lie apart.
func gatherRun(columns []openColumn, block *turnBlock, dst []byte, at, rowStride, columnStride int64, rows []int64, chunk []int32) {
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
			if columnStride == 1 && len(columns)-c >= leastTurned {
				if n := block.turn(columns[c:], dst, k, rowStride, number, rows[0], n); n > 0 {
					c += n - 1
					continue
				}
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

// turnColumns is how many columns are turned into rows together at most: their values
// are a line of the cache. Fewer than leastTurned are stored one by one.
const (
	turnColumns = 16
	leastTurned = 8
)

// turnBlock is room for runRows words of columns that are turned into rows, one column
// after the other.
type turnBlock [turnColumns * runRows]uint32

// wordColumn is a gatherer whose values go to elements as they are.
type wordColumn interface {
	// words is the values of a chunk, nil where they are of another size or are cast.
	words(chunk int32) []uint32
}

// turn writes values of the first columns from row first on into rows whose elements
// lie beside each other, and says of how many columns: 0 where they are no words.
func (b *turnBlock) turn(columns []openColumn, dst []byte, at, rowStride int64, chunk int32, first int64, rows int) int {
	var from [turnColumns][]uint32
	n := 0
	for n < min(len(columns), turnColumns) && columns[n].first == columns[0].first+int64(n) {
		if from[n] = columns[n].wordsOf(chunk); from[n] == nil {
			break
		}
		n++
	}
	if n < leastTurned {
		return 0
	}
	for c, words := range from[:n] {
		copy(b[c*runRows:], words[first:first+int64(rows)])
	}
	bitpack.Best().Rows(view[uint32](dst)[at:], int(rowStride), b[:], runRows, n, rows)
	return n
}

// wordsOf is the words of a column, nil where it has none.
func (c *openColumn) wordsOf(chunk int32) []uint32 {
	if g, ok := c.gatherer.(wordColumn); ok && c.encoded == nil {
		return g.words(chunk)
	}
	return nil
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
