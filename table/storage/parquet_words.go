package storage

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
)

// Words is where the values of a column of 32 bits go: that of row i to element
// i·Stride of To.
type Words struct {
	To     []uint32
	Stride int64
}

// wordRows is how many rows are decoded of one column after the other: in rows of
// 32 columns they are as much as a first-level cache.
const wordRows = 256

// errNotWords is what a row group fails of that is to be read as columns.
var errNotWords = errors.New("its values are not all words")

// words decodes columns of a row group to where they are wanted, without columns
// between: indices are unpacked, looked up and stored by one loop. It reports false,
// with some values stored, where a column has nulls, or another encoding or width.
//
// It is designed for what the processor does of a value: a quarter of a load for
// its index, one for the value and a store, which stay in the first-level cache.
func (r *groupReader) words(ctx context.Context, to []Words) (ok bool, err error) {
	defer guard(r.file.path, rowGroup(r.g), &err)
	leaves, _, err := r.open(ctx)
	defer r.close()
	if err != nil || len(leaves) > 0 {
		return false, err
	}
	columns := make([]*fixedValues[uint32], len(r.flat))
	for k, c := range r.flat {
		v, is := c.values.(*fixedValues[uint32])
		if !is {
			return false, nil
		}
		columns[k] = v
	}
	rows := r.file.meta.RowGroup(r.g).NumRows()
	for at := int64(0); at < rows; at += wordRows {
		if err := canceled(ctx, r.file.path); err != nil {
			return false, err
		}
		for k, c := range r.flat {
			err := c.words(ctx, columns[k], min(wordRows, rows-at), to[k].To[at*to[k].Stride:], to[k].Stride)
			if errors.Is(err, errNotWords) {
				return false, nil
			}
			if err != nil {
				return false, c.fault(err)
			}
		}
	}
	return true, nil
}

// words stores the next values, as many as that.
func (c *chunkReader) words(ctx context.Context, v *fixedValues[uint32], rows int64, to []uint32, stride int64) error {
	for at := int64(0); at < rows; {
		if c.left == 0 {
			if err := c.turn(ctx); err != nil {
				return err
			}
			continue
		}
		k := min(c.left, rows-at)
		if c.optional {
			present, err := c.levels.ones(k)
			if err != nil {
				return fmt.Errorf("definition levels: %w", err)
			}
			if present < k {
				return errNotWords
			}
		}
		if err := v.store(&c.body, to[at*stride:], stride, k); err != nil {
			return err
		}
		c.left, at = c.left-k, at+k
	}
	return nil
}

// ones takes n values of one bit and counts the ones, up to the first run that
// is packed and has others.
func (h *hybrid) ones(n int64) (ones int64, err error) {
	for n > 0 {
		if err := h.run(); err != nil {
			return ones, err
		}
		k := min(n, h.left)
		if h.packed == nil {
			ones += k * int64(h.value)
		} else {
			for i := h.bit; i < h.bit+k; i++ {
				ones += int64(h.packed[i>>3] >> (i & 7) & 1)
			}
			h.bit += k
		}
		h.left -= k
		n -= k
	}
	return ones, nil
}

// store takes n values to every stride-th element.
func (v *fixedValues[T]) store(p *pageValues, to []T, stride, n int64) error {
	if p.coded {
		return v.lookUp(&p.runs, to, stride, n)
	}
	if int64(len(p.plain))/4 < n || v.width != 4 {
		return errValuesEnd
	}
	b := p.plain[:4*n]
	for k := int64(0); len(b) >= 4; k, b = k+stride, b[4:] {
		to[k] = T(binary.LittleEndian.Uint32(b))
	}
	p.plain = p.plain[4*n:]
	return nil
}

// lookUp takes n values of the dictionary to every stride-th element.
func (v *fixedValues[T]) lookUp(h *hybrid, to []T, stride, n int64) error {
	for n > 0 {
		if err := h.run(); err != nil {
			return err
		}
		k := min(n, h.left)
		switch {
		case h.packed == nil:
			if int(h.value) >= len(v.dict) {
				return errIndex(h.value, len(v.dict))
			}
			value := v.dict[h.value]
			for i := int64(0); i < k*stride; i += stride {
				to[i] = value
			}
		case h.width <= narrow && 1<<h.width <= cap(v.dict):
			if largest := unpackTo(h, v.dict[:1<<h.width], to, stride, k); int(largest) >= len(v.dict) {
				return errIndex(largest, len(v.dict))
			}
		default:
			if err := v.lookWide(h, to, stride, k); err != nil {
				return err
			}
		}
		h.left -= k
		to, n = to[min(k*stride, int64(len(to))):], n-k
	}
	return nil
}

// lookWide is lookUp of a packed run of any width.
func (v *fixedValues[T]) lookWide(h *hybrid, to []T, stride, n int64) error {
	var block [wordRows]uint32
	for at := int64(0); at < n; at += wordRows {
		indices := block[:min(wordRows, n-at)]
		if largest := h.unpack(indices); int(largest) >= len(v.dict) {
			return errIndex(largest, len(v.dict))
		}
		for i, x := range indices {
			to[(at+int64(i))*stride] = v.dict[x]
		}
	}
	return nil
}

// unpackTo stores the values of a packed run of narrow indices, by a table that has
// one for each index of that width, and gives the largest index.
func unpackTo[T stored](h *hybrid, table, to []T, stride, n int64) (largest uint32) {
	b := h.packed[:len(h.packed)+8]
	mask, width, bit := uint64(1)<<h.width-1, uint64(h.width), uint64(h.bit)
	table = table[:mask+1]
	var l0, l1, l2, l3 uint64
	k := int64(0)
	for ; n >= 4; n -= 4 {
		word := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7)
		v0, v1, v2, v3 := word&mask, word>>(width&63)&mask, word>>(2*width&63)&mask, word>>(3*width&63)&mask
		l0, l1, l2, l3 = max(l0, v0), max(l1, v1), max(l2, v2), max(l3, v3)
		d := to[k : k+3*stride+1]
		d[0], d[stride], d[2*stride], d[3*stride] = table[v0], table[v1], table[v2], table[v3]
		k, bit = k+4*stride, bit+4*width
	}
	for ; n > 0; n-- {
		x := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask
		to[k] = table[x]
		l0 = max(l0, x)
		k, bit = k+stride, bit+width
	}
	h.bit = int64(bit)
	return uint32(max(l0, l1, l2, l3))
}
