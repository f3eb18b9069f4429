// Package half converts IEEE 754 binary16 numbers.
package half

import "math"

// Widen gives a binary16 number as float32; every one has an exact float32.
func Widen(h uint16) float32 {
	sign, exp, frac := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch exp {
	case 0: // zero and the subnormals, whole multiples of 2^-24
		f := float32(frac) * 0x1p-24
		return math.Float32frombits(sign | math.Float32bits(f))
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | frac<<13)
}

// Round rounds a float32 to the nearest, ties to even; what is too large becomes infinite.
func Round(f float32) uint16 {
	b := math.Float32bits(f)
	sign, abs := uint16(b>>16)&0x8000, b&0x7fffffff
	switch {
	case abs > 0x7f800000: // NaN keeps the upper bits of its payload
		return sign | 0x7e00 | uint16(abs>>13)&0x1ff
	case abs >= 0x477ff000: // from 65520 on
		return sign | 0x7c00
	case abs < 0x38800000: // below 2^-14: subnormal; adding 0.5 rounds at 2^-24
		return sign | uint16(math.Float32bits(math.Float32frombits(abs)+0.5)-0x3f000000)
	}
	return sign | uint16((abs+0xfff+abs>>13&1)>>13-112<<10)
}
