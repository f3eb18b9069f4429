// Package float16 converts between float32 and the two floats of 16 bits: IEEE 754's
// binary16, and bfloat16, the upper half of a float32. Every such number is a float32,
// and what becomes one is rounded to the nearest, of two such to the even one: below
// 2⁻¹⁴ to a subnormal, which arrow-go's type makes zero, as it cuts what it should round.
package float16

import "math"

// Widen is a binary16 as the float32 that it equals.
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

// Round is the binary16 next to a float32; what is too large becomes infinite, and
// NaN stays one.
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

// WidenBrain is a bfloat16 as the float32 that it equals.
func WidenBrain(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// RoundBrain is the bfloat16 next to a float32; what is too large becomes infinite,
// and NaN stays one.
func RoundBrain(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}
