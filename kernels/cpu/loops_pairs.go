package cpu

import "encoding/binary"

// pairStep is the places that are looked at at a time.
const pairStep = 64

// pairLoops mark the places of a text that have one byte there and another one
// gap bytes on, as a pattern's first and last bytes are where it is: dst has a
// bit for each of 8*len(dst) places, a multiple of 64, and text is so much and
// gap bytes long. Reading the text is the limit: twice from the first-level
// cache, once from memory.
type pairLoops struct {
	mark func(dst, text []byte, first, last byte, gap int)
}

func goPairLoops() pairLoops { return pairLoops{mark: markPairs} }

// markPairs compares eight bytes at once: what is 0 in a word is where the bytes
// are, and adding to the lower seven bits of each byte carries to its upper one
// where any is set.
func markPairs(dst, text []byte, first, last byte, gap int) {
	const ones, low = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f
	a, b := ones*uint64(first), ones*uint64(last)
	far := text[gap:]
	for i := range dst {
		x := (binary.LittleEndian.Uint64(text[8*i:]) ^ a) | (binary.LittleEndian.Uint64(far[8*i:]) ^ b)
		zero := ^((x&low + low) | x) >> 7 & ones
		dst[i] = byte(zero * 0x0102040810204080 >> 56)
	}
}
