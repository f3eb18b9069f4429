package cpu

import (
	"encoding/binary"
	"math/bits"

	"github.com/volley-go/volley/internal/slots"
)

// The hash inside of group and join tables multiplies to 128 bits and folds
// them, as wyhash does (Wang Yi, github.com/wangyi-fudan/wyhash): one
// multiplication for a word, one for each 16 bytes of a string. It is not the
// Hash kernel and never leaves a call. Tests keep fewer bits of it.
const (
	mixA = 0xa0761d6478bd642f
	mixB = 0xe7037ed1a0b428db
	mixC = 0x8ebc6af09c88c6e3
)

func fold128(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// mix spreads a word over all 64 bits. The shift keeps words whose low half is
// always 0 from losing theirs.
func mix(w uint64) uint64 { return fold128(w^w>>32^mixA, mixB) & slots.Kept }

// hashText hashes a string: one of up to shortText bytes as its two words, which
// loops make of many at once.
func hashText(p []byte) uint64 {
	if len(p) <= shortText {
		return mixText(shortWords(p))
	}
	n := len(p)
	h := uint64(mixC)
	for len(p) > 16 {
		h = fold128(binary.LittleEndian.Uint64(p)^mixB, binary.LittleEndian.Uint64(p[8:])^h)
		p = p[16:]
	}
	var a, b uint64
	switch {
	case len(p) >= 8:
		a, b = binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[len(p)-8:])
	case len(p) >= 4:
		a, b = uint64(binary.LittleEndian.Uint32(p)), uint64(binary.LittleEndian.Uint32(p[len(p)-4:]))
	case len(p) > 0:
		a = uint64(p[0])<<16 | uint64(p[len(p)/2])<<8 | uint64(p[len(p)-1])
	}
	return fold128(mixA^uint64(n), fold128(a^mixB, b^h)) & slots.Kept
}

// shortWords are the words of a short text, as textLoops make them, without a look
// at what lies behind it.
func shortWords(p []byte) (low, high uint64) {
	n := uint(len(p))
	switch {
	case n >= 8:
		low = binary.LittleEndian.Uint64(p)
		high = binary.LittleEndian.Uint64(p[n-8:]) >> (8 * (16 - n))
	case n >= 4:
		low = uint64(binary.LittleEndian.Uint32(p)) | uint64(binary.LittleEndian.Uint32(p[n-4:]))<<(8*(n-4))
	case n > 0:
		low = uint64(p[0]) | uint64(p[n/2])<<(8*(n/2)) | uint64(p[n-1])<<(8*(n-1))
	}
	return low, high | uint64(n)<<56
}
