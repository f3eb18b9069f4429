package cpu

import (
	"context"
	"math/bits"

	"github.com/volley-go/volley/memory"
)

// selection is which rows a filter keeps: a mask's bits, read where they lie,
// and how many rows each morsel keeps.
type selection struct {
	n        int64
	mask     memory.Bitmap
	maskAt   int64         // the bit of row 0
	valid    memory.Bitmap // of the mask, nil where nothing is null
	validAt  int64
	emitNull bool    // a null in the mask keeps the row, as a null
	starts   []int64 // rows kept before each morsel, and in all
}

// selectRows counts what a mask keeps.
func selectRows(ctx context.Context, mask *memory.Column, emitNull bool) (*selection, error) {
	s := &selection{n: mask.Len(), mask: mask.Bits(), maskAt: mask.Offset()}
	if v := mask.Validity(); v != nil {
		s.valid, s.validAt, s.emitNull = v, mask.Offset(), emitNull
	}
	return s, s.count(ctx)
}

// count fills in starts.
func (s *selection) count(ctx context.Context) error {
	s.starts = make([]int64, morsels(s.n)+1)
	err := parallel(ctx, s.n, func(_ int, p span) error {
		s.starts[p.index+1] = s.countOf(p.from, p.to)
		return nil
	})
	for i := 1; i < len(s.starts); i++ {
		s.starts[i] += s.starts[i-1]
	}
	return err
}

// countOf is how many of rows [from, to) are kept.
func (s *selection) countOf(from, to int64) (kept int64) {
	if s.valid == nil {
		return s.mask.Count(s.maskAt+from, to-from)
	}
	for i := from; i < to; i += 64 {
		kept += int64(bits.OnesCount64(s.word(i, min(64, to-i))))
	}
	return kept
}

// kept is the number of rows kept.
func (s *selection) kept() int64 { return s.starts[len(s.starts)-1] }

// all reports whether every row is kept as it is.
func (s *selection) all() bool { return s.kept() == s.n && !s.emitNull }

// word says which of rows [i, i+k), k <= 64, are kept.
func (s *selection) word(i, k int64) uint64 {
	w := s.mask.Word(s.maskAt+i, k)
	if s.valid != nil {
		v := s.valid.Word(s.validAt+i, k)
		if w &= v; s.emitNull {
			w |= ^v & lowBits(k)
		}
	}
	return w
}

// bytes is the mask of a morsel as a bitmap of its own: the column's where it
// can be. Bits after the last row may be anything.
func (s *selection) bytes(p span) []byte {
	rows := p.to - p.from
	if s.valid == nil && s.maskAt&7 == 0 {
		return s.mask[(s.maskAt+p.from)>>3:][:memory.BitmapBytes(rows)]
	}
	b := make(memory.Bitmap, memory.BitmapBytes(rows))
	for i := int64(0); i < rows; i += 64 {
		k := min(64, rows-i)
		storeWord(b, i, k, s.word(p.from+i, k))
	}
	return b
}

// words gives the rows of a morsel that are kept, 64 at a time: f gets the
// first row, and a bit for each kept one, never none. It is the loop around
// every filter.
func (s *selection) words(p span, f func(i int64, w uint64)) {
	for i := p.from; i < p.to; i += 64 {
		if w := s.word(i, min(64, p.to-i)); w != 0 {
			f(i, w)
		}
	}
}

// lowBits is a word whose lowest k bits are set, k <= 64.
func lowBits(k int64) uint64 { return ^uint64(0) >> (64 - uint(k)) }

// compress moves the bits of v that are set in w to the low end.
func compress(v, w uint64) uint64 {
	if w == ^uint64(0) {
		return v
	}
	if v &= w; v == w {
		return lowBitsOf(w)
	}
	if v == 0 {
		return 0
	}
	var r uint64
	for k := 0; w != 0; k++ {
		b := uint(bits.TrailingZeros64(w))
		r |= v >> b & 1 << uint(k)
		w &= w - 1
	}
	return r
}

// lowBitsOf has as many low bits as w has bits.
func lowBitsOf(w uint64) uint64 {
	n := bits.OnesCount64(w)
	if n == 0 {
		return 0
	}
	return lowBits(int64(n))
}
