package storage

import "encoding/binary"

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

// skip leaves out n values.
func (h *hybrid) skip(n int64) error {
	for n > 0 {
		if err := h.run(); err != nil {
			return err
		}
		k := min(n, h.left)
		if h.packed != nil {
			h.bit += k * int64(h.width)
		}
		h.left -= k
		n -= k
	}
	return nil
}

// lookUp takes n values of the dictionary to every stride-th element.
func lookUp(h *hybrid, dict, to []uint32, stride, n int64) error {
	for n > 0 {
		if err := h.run(); err != nil {
			return err
		}
		k := min(n, h.left)
		switch {
		case h.packed == nil:
			if int(h.value) >= len(dict) {
				return errIndex(h.value, len(dict))
			}
			value := dict[h.value]
			for i := int64(0); i < k*stride; i += stride {
				to[i] = value
			}
		case h.width <= narrow && 1<<h.width <= cap(dict):
			if largest := unpackTo(h, dict[:1<<h.width], to, stride, k); int(largest) >= len(dict) {
				return errIndex(largest, len(dict))
			}
		default:
			if err := lookWide(h, dict, to, stride, k); err != nil {
				return err
			}
		}
		h.left -= k
		to, n = to[min(k*stride, int64(len(to))):], n-k
	}
	return nil
}

// lookWide is lookUp of a packed run of any width.
func lookWide(h *hybrid, dict, to []uint32, stride, n int64) error {
	var block [wordRows]uint32
	for at := int64(0); at < n; at += wordRows {
		indices := block[:min(wordRows, n-at)]
		if largest := h.unpack(indices); int(largest) >= len(dict) {
			return errIndex(largest, len(dict))
		}
		for i, x := range indices {
			to[(at+int64(i))*stride] = dict[x]
		}
	}
	return nil
}

// unpackTo stores the values of a packed run of narrow indices, by a table that has
// one for each index of that width, and gives the largest index.
func unpackTo(h *hybrid, table, to []uint32, stride, n int64) (largest uint32) {
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
