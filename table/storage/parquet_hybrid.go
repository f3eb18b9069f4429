package storage

import (
	"encoding/binary"
	"errors"

	"github.com/volley-go/volley/internal/bitpack"
	"github.com/volley-go/volley/memory"
)

// hybrid reads Parquet's mix of run lengths and bit-packed groups of eight, in
// which levels, indices of dictionaries and bools are written.
// https://parquet.apache.org/docs/file-format/data-pages/encodings/#RLE
type hybrid struct {
	b      []byte // yet to read; slack bytes of capacity follow
	width  uint   // bits of a value, at most 32
	left   int64  // values left of the run at hand
	packed []byte // of a packed run: its bytes, else nil
	bit    int64  // of a packed run: where its next value begins
	value  uint32 // of a repeated one
}

// slack is how many bytes may be read behind the end of a page's values, so
// that loops may load whole registers there.
const slack = bitpack.Slack

var (
	errRunsEnd   = errors.New("its runs end before its values do")
	errRunDamage = errors.New("a run in it is damaged")
)

func newHybrid(b []byte, width uint) hybrid { return hybrid{b: b, width: width} }

// run begins the next run, unless there are values left of the one at hand.
func (h *hybrid) run() error {
	for h.left == 0 {
		head, n := binary.Uvarint(h.b)
		if n == 0 {
			return errRunsEnd
		}
		if n < 0 || head>>1 > 1<<40 {
			return errRunDamage
		}
		h.b = h.b[n:]
		count := int64(head >> 1)
		if head&1 == 0 {
			size := int(h.width+7) / 8
			if len(h.b) < size {
				return errRunsEnd
			}
			h.value = uint32(binary.LittleEndian.Uint64(h.b[:8]) & (1<<(8*uint(size)) - 1))
			if uint64(h.value)>>h.width != 0 {
				return errRunDamage
			}
			h.b, h.packed, h.left = h.b[size:], nil, count
			continue
		}
		// A writer may leave out what pads the last group.
		size := min(count*int64(h.width), int64(len(h.b)))
		h.packed, h.b, h.bit, h.left = h.b[:size], h.b[size:], 0, 8*count
		if h.width > 0 {
			h.left = min(h.left, 8*size/int64(h.width))
			if h.left == 0 && count > 0 {
				return errRunsEnd
			}
		}
	}
	return nil
}

// read decodes the next values and gives the largest.
func (h *hybrid) read(to []uint32) (largest uint32, err error) {
	for len(to) > 0 {
		if err := h.run(); err != nil {
			return 0, err
		}
		k := min(int64(len(to)), h.left)
		if h.packed == nil {
			for i := range to[:k] {
				to[i] = h.value
			}
			largest = max(largest, h.value)
		} else {
			largest = max(largest, h.unpack(to[:k]))
		}
		h.left -= k
		to = to[k:]
	}
	return largest, nil
}

// unpack takes values of a packed run and gives the largest.
func (h *hybrid) unpack(to []uint32) (largest uint32) {
	largest = bitpack.Best().Unpack(to, h.packed, h.bit, h.width)
	h.bit += int64(len(to)) * int64(h.width)
	return largest
}

// bits decodes n values of one bit to bits [at, at+n) and counts the ones.
func (h *hybrid) bits(to memory.Bitmap, at, n int64) (ones int64, err error) {
	for n > 0 {
		if err := h.run(); err != nil {
			return 0, err
		}
		k := min(n, h.left)
		if h.packed == nil {
			to.Fill(at, k, h.value != 0)
			ones += k * int64(h.value)
		} else {
			to.CopyFrom(at, h.packed, h.bit, k)
			ones += to.Count(at, k)
			h.bit += k
		}
		h.left -= k
		at, n = at+k, n-k
	}
	return ones, nil
}

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

// some decodes those of the next values, numbered from base on, whose numbers are in sel, which rise,
// ends behind the last of them, and gives the largest.
func (h *hybrid) some(to []uint32, sel []int32, base int32) (largest uint32, err error) {
	at := int64(base)
	for i := 0; i < len(sel); {
		if err := h.skip(int64(sel[i]) - at); err != nil {
			return 0, err
		}
		if err := h.run(); err != nil {
			return 0, err
		}
		at = int64(sel[i])
		end, last := at+h.left, at
		for ; i < len(sel) && int64(sel[i]) < end; i++ {
			to[i], last = h.value, int64(sel[i])
			if h.packed != nil {
				bit := h.bit + (last-at)*int64(h.width)
				to[i] = uint32(binary.LittleEndian.Uint64(h.packed[bit>>3:][:8]) >> (bit & 7) & (1<<h.width - 1))
			}
			largest = max(largest, to[i])
		}
		if err := h.skip(last + 1 - at); err != nil {
			return 0, err
		}
		at = last + 1
	}
	return largest, nil
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
