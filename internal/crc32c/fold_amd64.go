//go:build !purego

package crc32c

import (
	"math/bits"

	"golang.org/x/sys/cpu"
)

var wide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VPCLMULQDQ && cpu.X86.HasSSE42

const (
	step       = 256      // bytes of a turn of foldAVX512
	worthwhile = 4 * step // below it hash/crc32 is as fast
)

// ahead takes what vectors can of p, and gives what they leave.
func ahead(sum uint32, p []byte) (uint32, []byte) {
	n := len(p) &^ (step - 1)
	if !wide || n < worthwhile {
		return sum, p
	}
	return ^foldAVX512(&p[0], n, ^sum, &powers), p[n:]
}

// powers move 16 bytes on by 256, 64 and 16: for the first and for the second eight of
// them, the remainder of x to the power of the bits, less one since the product of two
// words whose lowest bit is the highest power lacks one place.
// Source: Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
// Instruction", Intel, 2009.
var powers = [6]uint64{power(256*8 + 63), power(256*8 - 1), power(64*8 + 63), power(64*8 - 1), power(16*8 + 63), power(16*8 - 1)}

// power is x^n modulo the polynomial, the highest power in the lowest bit of 64.
func power(n int) uint64 {
	const polynomial = 0x1EDC6F41
	p := uint32(1)
	for range n {
		carry := p >> 31
		p = p<<1 ^ carry*polynomial
	}
	return uint64(bits.Reverse32(p)) << 32
}
