package fma

import (
	"math"
	"unsafe"
)

// Of is x*y + z, rounded once, in T.
func Of[T float32 | float64](x, y, z T) T {
	if unsafe.Sizeof(x) == 8 {
		return T(math.FMA(float64(x), float64(y), float64(z)))
	}
	return T(Float32(float32(x), float32(y), float32(z)))
}

// Float32 is x*y + z, rounded once. In float64 the product is exact; the sum is
// not always, and rounding it again goes wrong where it looks like a tie of
// float32, or a value of it: that has zeros in its last 28 bits, which is rare.
func Float32(x, y, z float32) float32 {
	p := float64(x) * float64(y)
	s := p + float64(z)
	if math.Float64bits(s)<<36 != 0 {
		return float32(s)
	}
	return toSide(p, float64(z), s)
}

// toSide is p + z rounded to float32, s being the sum rounded to float64. What s
// lacks, by Knuth's two-sum, tells on which side of s the sum is: there float32
// is told to round from.
func toSide(p, z, s float64) float32 {
	if math.IsInf(s, 0) || s == 0 {
		return float32(s)
	}
	back := s - p
	lack := (p - (s - back)) + (z - back)
	switch bits := math.Float64bits(s); {
	case lack == 0:
	case lack > 0 == (s > 0):
		s = math.Float64frombits(bits + 1)
	default:
		s = math.Float64frombits(bits - 1)
	}
	return float32(s)
}
