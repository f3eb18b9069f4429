package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/volley-go/volley/table/storage/internal/filemeta"
)

var errDeltas = errors.New("its differences are damaged")

// plain makes the values of a page what the column's values take as plain ones: those
// written in differences as if they had not been, then those of a type that is
// stored otherwise than it is held.
func (c *chunkReader) plain(p *chunkPage, b *[]byte) (err error) {
	if p.Encoding == encodingPlain && c.plainly == nil {
		return nil
	}
	if c.into != nil { // pages are to stay, and this one would make room for the next
		return errNotWords
	}
	if p.Encoding != encodingPlain {
		c.deltas = c.deltas[:0]
		switch p.Encoding {
		case encodingDeltaBinary:
			err = c.plainNumbers(*b, p.Values)
		case encodingDeltaLengths:
			err = c.plainTexts(*b, nil, p.Values)
		default:
			var shared []int64
			if shared, *b, err = deltaNumbers(*b, p.Values); err == nil {
				err = c.plainTexts(*b, shared, p.Values)
			}
		}
		if err != nil {
			return err
		}
		c.deltas = slices.Grow(c.deltas, slack)
		*b = c.deltas
	}
	if c.plainly != nil {
		*b, err = c.plainly(*b)
	}
	return err
}

// plainNumbers is DELTA_BINARY_PACKED as PLAIN.
func (c *chunkReader) plainNumbers(b []byte, most int64) error {
	values, _, err := deltaNumbers(b, most)
	for _, v := range values {
		if c.stored == parquet.Types.Int32 {
			c.deltas = binary.LittleEndian.AppendUint32(c.deltas, uint32(v))
		} else {
			c.deltas = binary.LittleEndian.AppendUint64(c.deltas, uint64(v))
		}
	}
	return err
}

// plainTexts is DELTA_LENGTH_BYTE_ARRAY as PLAIN, and with the lengths of what each value
// shares with the one before, DELTA_BYTE_ARRAY.
func (c *chunkReader) plainTexts(b []byte, shared []int64, most int64) error {
	lengths, b, err := deltaNumbers(b, most)
	if err != nil {
		return err
	}
	if shared != nil && len(shared) != len(lengths) {
		return errDeltas
	}
	last := []byte(nil)
	for i, n := range lengths {
		prefix := int64(0)
		if shared != nil {
			prefix = shared[i]
		}
		if n < 0 || n > int64(len(b)) || prefix < 0 || prefix > int64(len(last)) {
			return errDeltas
		}
		if int64(len(c.deltas))+prefix+n > largestPage {
			return fmt.Errorf("its values take more than %d bytes", largestPage)
		}
		if c.stored == parquet.Types.FixedLenByteArray {
			if prefix+n != int64(c.width) {
				return fmt.Errorf("a value of %d bytes where all have %d", prefix+n, c.width)
			}
		} else {
			c.deltas = binary.LittleEndian.AppendUint32(c.deltas, uint32(prefix+n))
		}
		at := len(c.deltas)
		c.deltas = append(append(c.deltas, last[:prefix]...), b[:n]...)
		last, b = c.deltas[at:], b[n:]
	}
	return nil
}

// deltaNumbers reads DELTA_BINARY_PACKED, at most so many values, and gives what follows.
// https://parquet.apache.org/docs/file-format/data-pages/encodings/#DELTAENC
func deltaNumbers(b []byte, most int64) (values []int64, rest []byte, err error) {
	h := filemeta.Compact{Bytes: b}
	block, err1 := h.Uvarint()
	minis, err2 := h.Uvarint()
	count, err3 := h.Uvarint()
	last, err4 := h.Varint()
	if errors.Join(err1, err2, err3, err4) != nil || block == 0 || block > 1<<20 || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 || count > uint64(most) {
		return nil, nil, errDeltas
	}
	if count == 0 {
		return []int64{}, b[h.At:], nil
	}
	per := int(block / minis)
	// a bit of a width stands for at least one value, so the room is not more than the page claims
	values = append(make([]int64, 0, min(count, 1<<16)), last)
	for uint64(len(values)) < count {
		least, err := h.Varint()
		if err != nil || h.Left() < int(minis) {
			return nil, nil, errDeltas
		}
		widths := b[h.At : h.At+int(minis)]
		h.At += int(minis)
		for _, width := range widths {
			n := min(per, int(count)-len(values))
			if n <= 0 {
				break
			}
			size := per / 8 * int(width)
			if width > 64 || size > h.Left() {
				return nil, nil, errDeltas
			}
			packed := b[h.At : h.At+size]
			h.At += size
			for i := range n {
				last += least + int64(bitsAt(packed, i*int(width), uint(width)))
				values = append(values, last)
			}
		}
	}
	return values, b[h.At:], nil
}

// bitsAt is the number of so many bits, up to 64, from bit `at` on, the lowest first.
func bitsAt(b []byte, at int, width uint) (v uint64) {
	if width == 0 {
		return 0
	}
	from, shift := at>>3, uint(at&7)
	var word [9]byte
	if copy(word[:], b[from:]) == 9 && shift+width > 64 {
		v = uint64(word[8]) << (64 - shift)
	}
	v |= binary.LittleEndian.Uint64(word[:8]) >> shift
	if width < 64 {
		v &= 1<<width - 1
	}
	return v
}
