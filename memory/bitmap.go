package memory

import (
	"encoding/binary"
	"math/bits"
)

// Bitmap is bits in Arrow's order: bit i is bit i%8, from the lowest, of byte
// i/8. As validity a set bit means a value, a clear one a null.
type Bitmap []byte

// BitmapBytes is the number of bytes that n bits take.
func BitmapBytes(n int64) int64 { return (n + 7) / 8 }

// Get reports bit i.
func (m Bitmap) Get(i int64) bool { return m[i>>3]>>(uint(i)&7)&1 != 0 }

// Set sets bit i.
func (m Bitmap) Set(i int64) { m[i>>3] |= 1 << (uint(i) & 7) }

// Clear clears bit i.
func (m Bitmap) Clear(i int64) { m[i>>3] &^= 1 << (uint(i) & 7) }

// Put makes bit i v.
func (m Bitmap) Put(i int64, v bool) {
	if v {
		m.Set(i)
	} else {
		m.Clear(i)
	}
}

// Word gives bits [i, i+n), 0 <= n <= 64, as the low bits of a word; those
// above are 0. It reads no byte but those that hold these bits, so that others
// may write the neighbours at the same time.
func (m Bitmap) Word(i, n int64) uint64 {
	if n <= 0 {
		return 0
	}
	shift := uint(i) & 7
	first := i >> 3
	b := m[first : (i+n+7)>>3]
	var w uint64
	switch k := len(b); {
	case k >= 8:
		w = binary.LittleEndian.Uint64(b) >> shift
		if k == 9 {
			w |= uint64(b[8]) << (64 - shift)
		}
	case k >= 4: // two halves that overlap
		w = uint64(binary.LittleEndian.Uint32(b))
		w |= uint64(binary.LittleEndian.Uint32(b[k-4:])) << (8 * uint(k-4))
		w >>= shift
	default:
		for k, v := range b {
			w |= uint64(v) << (8 * uint(k))
		}
		w >>= shift
	}
	if n < 64 {
		w &= 1<<uint(n) - 1
	}
	return w
}

// PutWord writes the low n bits of w, 0 <= n <= 64, to bits [i, i+n) and
// leaves every other bit as it is.
func (m Bitmap) PutWord(i, n int64, w uint64) {
	if n == 64 && i&7 == 0 {
		binary.LittleEndian.PutUint64(m[i>>3:], w)
		return
	}
	for n > 0 {
		shift := uint(i) & 7
		k := min(n, int64(8-shift))
		mask := byte(1<<uint(k)-1) << shift
		m[i>>3] = m[i>>3]&^mask | byte(w<<shift)&mask
		w >>= uint(k)
		i += k
		n -= k
	}
}

// Count is the number of set bits in [i, i+n).
func (m Bitmap) Count(i, n int64) int64 {
	if n <= 0 {
		return 0
	}
	var c int
	for n > 0 && i&7 != 0 {
		k := min(n, 8-i&7)
		c += bits.OnesCount64(m.Word(i, k))
		i, n = i+k, n-k
	}
	b := m[i>>3:]
	for n >= 64 {
		c += bits.OnesCount64(binary.LittleEndian.Uint64(b))
		b, i, n = b[8:], i+64, n-64
	}
	return int64(c + bits.OnesCount64(m.Word(i, n)))
}

// Fill makes bits [i, i+n) all v.
func (m Bitmap) Fill(i, n int64, v bool) {
	if n <= 0 {
		return
	}
	var w uint64
	if v {
		w = ^uint64(0)
	}
	for n > 0 && i&7 != 0 {
		k := min(n, 8-i&7)
		m.PutWord(i, k, w)
		i, n = i+k, n-k
	}
	whole := m[i>>3 : i>>3+n>>3]
	for k := range whole {
		whole[k] = byte(w)
	}
	m.PutWord(i+n&^7, n&7, w)
}

// CopyFrom copies bits [from, from+n) of src to bits [i, i+n) of m. The two
// may not overlap.
func (m Bitmap) CopyFrom(i int64, src Bitmap, from, n int64) {
	if i&7 == 0 && from&7 == 0 {
		whole := n &^ 7
		copy(m[i>>3:(i+whole)>>3], src[from>>3:])
		m.PutWord(i+whole, n-whole, src.Word(from+whole, n-whole))
		return
	}
	for n > 0 {
		k := min(n, 64)
		if i&7 != 0 && n > 64 { // reach a byte of the target, then go by words
			k = 8 - i&7
		}
		m.PutWord(i, k, src.Word(from, k))
		i, from, n = i+k, from+k, n-k
	}
}
