package cpu

import (
	"encoding/binary"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/volley-go/volley/memory"
)

// combineValidity is the validity of a result that is null where any of cols
// (all of n rows; nil ones are passed over) is null, with the number of nulls.
// The bitmap begins at bit 0; it is nil where nothing is null, and a column's
// own, retained, where only that column has nulls and its offset is 0. A null
// in a dictionary counts for the rows that point at it.
func combineValidity(a memory.Allocator, n int64, cols ...*memory.Column) (*memory.Buffer, int64, error) {
	var from []*memory.Column
	for _, c := range cols {
		if hasNulls(c) {
			from = append(from, c)
		}
	}
	if n == 0 || len(from) == 0 {
		return nil, 0, nil
	}
	if c := from[0]; len(from) == 1 && c.Offset() == 0 && c.Validity() != nil && !dictionaryNulls(c) {
		return c.Buffer(0).Retain(), c.NullCount(), nil
	}
	b, err := newBits(a, n)
	if err != nil {
		return nil, 0, err
	}
	dst := memory.Bitmap(b.Bytes())
	valid := int64(0)
	for i := int64(0); i < n; i += 64 {
		k := min(64, n-i)
		w := ^uint64(0) >> (64 - uint(k))
		for _, c := range from {
			w &= validWord(c, i, k)
		}
		valid += int64(bits.OnesCount64(w))
		storeWord(dst, i, k, w)
	}
	return b, n - valid, nil
}

// hasNulls reports whether any row of c, which may be nil, is null: by its
// bitmap, its type or its dictionary.
func hasNulls(c *memory.Column) bool {
	if c == nil || c.Len() == 0 {
		return false
	}
	return c.MayHaveNulls() || dictionaryNulls(c)
}

func dictionaryNulls(c *memory.Column) bool { return c.Dictionary() != nil && hasNulls(c.Dictionary()) }

// validWord is the validity of rows [i, i+n) of c, n <= 64, as bits.
func validWord(c *memory.Column, i, n int64) uint64 {
	if c.Type().ID() == arrow.NULL {
		return 0
	}
	w := ^uint64(0) >> (64 - uint(n))
	if v := c.Validity(); v != nil {
		w = v.Word(c.Offset()+i, n)
	}
	if dictionaryNulls(c) {
		for rest := w; rest != 0; rest &= rest - 1 {
			k := bits.TrailingZeros64(rest)
			if isNull(c.Dictionary(), c.Index(i+int64(k))) {
				w &^= 1 << uint(k)
			}
		}
	}
	return w
}

// isNull reports whether row i of c is null, by way of its dictionary too.
func isNull(c *memory.Column, i int64) bool {
	return c.IsNull(i) || dictionaryNulls(c) && isNull(c.Dictionary(), c.Index(i))
}

// storeWord writes n <= 64 bits from bit i, a multiple of 64, of a bitmap. The
// bits of w from n on must be 0; they fill the last byte.
func storeWord(m memory.Bitmap, i, n int64, w uint64) {
	if n == 64 {
		binary.LittleEndian.PutUint64(m[i>>3:], w)
		return
	}
	for b := m[i>>3 : (i+n+7)>>3]; len(b) > 0; b = b[1:] {
		b[0] = byte(w)
		w >>= 8
	}
}

// validBytes is the validity of rows [from, from+n) as a bitmap of its own:
// that of the column where the first row's bit begins a byte, else a copy. Bits
// after the last row may be anything.
func validBytes(c *memory.Column, from int64, n int) []byte {
	rows := int64(n)
	if v := c.Validity(); v != nil && (c.Offset()+from)&7 == 0 && !dictionaryNulls(c) && c.Type().ID() != arrow.NULL {
		return v[(c.Offset()+from)>>3:][:memory.BitmapBytes(rows)]
	}
	b := make(memory.Bitmap, memory.BitmapBytes(rows))
	for i := int64(0); i < rows; i += 64 {
		k := min(64, rows-i)
		storeWord(b, i, k, validWord(c, from+i, k))
	}
	return b
}
