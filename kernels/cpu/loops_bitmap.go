package cpu

import (
	"encoding/binary"
	"math/bits"
)

// bitmapLoops are loops over bitmaps, by whole bytes. All slices of a call are
// as long as dst, or longer; dst may be one of the others.
type bitmapLoops struct {
	and, or, xor func(dst, a, b []byte)
	andNot       func(dst, a, b []byte) // b &^ a
	count        func(b []byte) int     // of the set bits
}

func goBitmapLoops() bitmapLoops {
	return bitmapLoops{and: andBytes, or: orBytes, xor: xorBytes, andNot: andNotBytes, count: countBytes}
}

func andBytes(dst, a, b []byte) {
	bytewise(dst, a, b, func(x, y uint64) uint64 { return x & y })
}

func orBytes(dst, a, b []byte) {
	bytewise(dst, a, b, func(x, y uint64) uint64 { return x | y })
}

func xorBytes(dst, a, b []byte) {
	bytewise(dst, a, b, func(x, y uint64) uint64 { return x ^ y })
}

func andNotBytes(dst, a, b []byte) {
	bytewise(dst, a, b, func(x, y uint64) uint64 { return y &^ x })
}

// bytewise applies a bitwise operation eight bytes at a time; the compiler
// inlines it with its argument.
func bytewise(dst, a, b []byte, op func(x, y uint64) uint64) {
	a, b = a[:len(dst)], b[:len(dst)]
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		binary.LittleEndian.PutUint64(dst[i:], op(binary.LittleEndian.Uint64(a[i:]), binary.LittleEndian.Uint64(b[i:])))
	}
	for ; i < len(dst); i++ {
		dst[i] = byte(op(uint64(a[i]), uint64(b[i])))
	}
}

func countBytes(b []byte) int {
	n := 0
	for ; len(b) >= 8; b = b[8:] {
		n += bits.OnesCount64(binary.LittleEndian.Uint64(b))
	}
	for _, v := range b {
		n += bits.OnesCount8(v)
	}
	return n
}
