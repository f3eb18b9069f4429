package cpu

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/kernels"
	"github.com/volley-go/volley/memory"
)

// restored is a key column that is had back from sorted words.
type restored[R row] struct {
	field *field[R]
	shift uint // of its code within the word
	cut   bool // the word is the one that rows were cut by
	put   func(at int, words []uint64)
}

// restoring is how a key's column is had back; there is nothing to have back of
// one whose values are all the same, or that has two fields.
func (c *carrier[R]) restoring(key *memory.Column) (*restored[R], bool) {
	for _, l := range []*level[R]{c.by, c.cutBy} {
		shift := uint(l.bits)
		for i := range l.fields {
			f := &l.fields[i]
			shift -= uint(f.bits)
			if f.column == key && !f.flag && !f.nans {
				return &restored[R]{field: f, shift: shift, cut: l != c.by}, true
			}
		}
	}
	return nil, false
}

// values puts the values of words in place, from the row at on; raw is room for
// as many.
func (r *restored[R]) values(at int, words, raw []uint64) {
	f, shift, mask := r.field, r.shift&63, uint64(math.MaxUint64)>>(64-uint(r.field.bits))
	raw = raw[:len(words)]
	if f.flip {
		first := f.from + f.base
		for i, w := range words {
			raw[i] = first - w>>shift&mask
		}
	} else {
		first := f.from - f.base
		for i, w := range words {
			raw[i] = first + w>>shift&mask
		}
	}
	r.put(at, raw)
}

// putter puts the values of the words of fixedWords into a column.
func putter(o *out) func(at int, words []uint64) {
	switch o.parts.Type.ID() {
	case arrow.INT8:
		return putNumbers[int8](o, 1<<63)
	case arrow.INT16:
		return putNumbers[int16](o, 1<<63)
	case arrow.INT32, arrow.DATE32, arrow.TIME32:
		return putNumbers[int32](o, 1<<63)
	case arrow.UINT8:
		return putNumbers[uint8](o, 0)
	case arrow.UINT16:
		return putNumbers[uint16](o, 0)
	case arrow.UINT32:
		return putNumbers[uint32](o, 0)
	case arrow.UINT64:
		return putNumbers[uint64](o, 0)
	case arrow.FLOAT32:
		dst := view[uint32](o, 1)
		return func(at int, words []uint64) {
			for i, w := range words {
				b := uint32(w)
				dst[at+i] = b ^ (^uint32(int32(b)>>31) | 1<<31)
			}
		}
	case arrow.FLOAT64:
		dst := view[uint64](o, 1)
		return func(at int, words []uint64) {
			for i, w := range words {
				dst[at+i] = w ^ (^uint64(int64(w)>>63) | 1<<63)
			}
		}
	default:
		return putNumbers[int64](o, 1<<63)
	}
}

func putNumbers[T integer](o *out, flip uint64) func(at int, words []uint64) {
	dst := view[T](o, 1)
	return func(at int, words []uint64) {
		for i, w := range words {
			dst[at+i] = T(w ^ flip)
		}
	}
}

// withNulls is the sorted column of a key, whose nulls, if any, are its first or
// last rows: there is no other key then.
func withNulls(o *out, k kernels.SortKey, key *memory.Column) (*memory.Column, error) {
	if !hasNulls(key) {
		return o.column(nil)
	}
	n, nulls := key.Len(), nullsOf(key)
	b, err := newBits(o.alloc, n)
	if err == nil {
		from := n - nulls
		if k.NullsFirst {
			from = 0
		}
		m := memory.Bitmap(b.Bytes())
		m.Fill(0, n, true)
		m.Fill(from, nulls, false)
		o.parts.Buffers[0], o.parts.Nulls = b, nulls
	}
	return o.column(err)
}

// nullsOf is how many nulls a column has, counted where that is not known.
func nullsOf(c *memory.Column) int64 {
	if !hasNulls(c) {
		return 0
	}
	if n := c.NullCount(); n >= 0 {
		return n
	}
	return c.Len() - c.Validity().Count(c.Offset(), c.Len())
}
