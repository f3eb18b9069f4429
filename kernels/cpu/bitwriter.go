package cpu

import (
	"encoding/binary"

	"github.com/volley-go/volley/memory"
)

// bitWriter appends bits to a bitmap from any bit on. It never writes a byte
// that it does not own whole: the one that it shares with what comes before and
// the one that it shares with what comes after are kept back, for join to add
// once all writers are done. So several can fill one bitmap side by side.
type bitWriter struct {
	dst        memory.Bitmap
	at         int64 // the byte that acc begins at
	acc        uint64
	n          uint // bits in acc
	first      int64
	shared     bool // the first byte has bits of what comes before
	head, tail byte
	headAt     int64 // -1 for none
	tailAt     int64
}

func newBitWriter(dst memory.Bitmap, bit int64) bitWriter {
	return bitWriter{dst: dst, at: bit >> 3, n: uint(bit & 7), first: bit >> 3, shared: bit&7 != 0, headAt: -1, tailAt: -1}
}

// put appends the low k bits of w, k <= 64; those above must be 0.
func (b *bitWriter) put(w uint64, k uint) {
	b.acc |= w << b.n
	if b.n+k < 64 {
		b.n += k
		return
	}
	b.flush(8)
	b.acc = w >> (64 - b.n) // of 64 - 0 Go makes 0, as it should be
	b.n += k - 64
}

// flush writes the first k bytes of acc.
func (b *bitWriter) flush(k int) {
	var word [8]byte
	binary.LittleEndian.PutUint64(word[:], b.acc)
	from := 0
	if b.shared && b.at == b.first {
		b.head, b.headAt, from = word[0], b.at, 1
	}
	copy(b.dst[b.at+int64(from):b.at+int64(k)], word[from:k])
	b.at += int64(k)
}

// end writes what is left but for a last byte that is not full.
func (b *bitWriter) end() {
	whole := int(b.n >> 3)
	acc := b.acc
	if whole > 0 {
		b.flush(whole)
	}
	if b.n&7 != 0 {
		b.tail, b.tailAt = byte(acc>>(8*uint(whole))), b.at
	}
}

// join adds the bytes that writers kept back. Where two meet in a byte the
// first to come there sets it.
func join(dst memory.Bitmap, writers []bitWriter) {
	last := int64(-1)
	add := func(at int64, v byte) {
		if at < 0 {
			return
		}
		if at != last {
			dst[at] = 0
		}
		dst[at] |= v
		last = at
	}
	for _, w := range writers {
		add(w.headAt, w.head)
		add(w.tailAt, w.tail)
	}
}
