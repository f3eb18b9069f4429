package storage

import (
	"encoding/binary"
	"errors"

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
// that loops may load whole words there.
const slack = 64

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

// narrow is the width of values of which a word has four, behind the seven bits
// that may stand before them.
const narrow = 14

// unpack loads a word for each value, seven bits before it and the 32 of the
// widest fit, or for four narrow ones.
func (h *hybrid) unpack(to []uint32) (largest uint32) {
	b := h.packed[:len(h.packed)+8]
	mask, width, bit := uint64(1)<<h.width-1, uint64(h.width), uint64(h.bit)
	if width <= narrow {
		var l0, l1, l2, l3 uint32
		for len(to) >= 4 {
			word := binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7)
			v0, v1, v2, v3 := uint32(word&mask), uint32(word>>(width&63)&mask), uint32(word>>(2*width&63)&mask), uint32(word>>(3*width&63)&mask)
			l0, l1, l2, l3 = max(l0, v0), max(l1, v1), max(l2, v2), max(l3, v3)
			to[0], to[1], to[2], to[3] = v0, v1, v2, v3
			to, bit = to[4:], bit+4*width
		}
		largest = max(l0, l1, l2, l3)
	}
	for i := range to {
		v := uint32(binary.LittleEndian.Uint64(b[bit>>3:]) >> (bit & 7) & mask)
		to[i] = v
		largest = max(largest, v)
		bit += width
	}
	h.bit = int64(bit)
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
