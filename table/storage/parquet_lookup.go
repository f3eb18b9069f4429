package storage

import (
	"github.com/volley-go/volley/internal/bitpack"
	"github.com/volley-go/volley/memory"
)

// ones takes n values of one bit and counts the ones.
func (h *hybrid) ones(n int64) (ones int64, err error) {
	for n > 0 {
		if err := h.run(); err != nil {
			return ones, err
		}
		k := min(n, h.left)
		if h.packed == nil {
			ones += k * int64(h.value)
		} else {
			ones += memory.Bitmap(h.packed).Count(h.bit, k)
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

// lookUp takes values of the dictionary.
func lookUp(h *hybrid, dict, to []uint32) error {
	for len(to) > 0 {
		if err := h.run(); err != nil {
			return err
		}
		k := min(int64(len(to)), h.left)
		switch {
		case h.packed == nil:
			if int(h.value) >= len(dict) {
				return errIndex(h.value, len(dict))
			}
			value := dict[h.value]
			for i := range to[:k] {
				to[i] = value
			}
		case h.width > 0 && h.width <= bitpack.Widest && 1<<h.width <= cap(dict):
			largest := bitpack.Best().LookUp(to[:k], dict[:1<<h.width], h.packed, h.bit, h.width)
			if int(largest) >= len(dict) {
				return errIndex(largest, len(dict))
			}
			h.bit += k * int64(h.width)
		default:
			if err := lookWide(h, dict, to[:k]); err != nil {
				return err
			}
		}
		h.left -= k
		to = to[k:]
	}
	return nil
}

// lookWide is lookUp of a packed run whose width tells more apart than there is room
// for.
func lookWide(h *hybrid, dict, to []uint32) error {
	largest := h.unpack(to)
	if int(largest) >= len(dict) {
		return errIndex(largest, len(dict))
	}
	for i, x := range to {
		to[i] = dict[x]
	}
	return nil
}
