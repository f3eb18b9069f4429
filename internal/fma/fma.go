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
// float32, which is rare.
func Float32(x, y, z float32) float32 {
	p := float64(x) * float64(y)
	s := p + float64(z)
	if Tie(s) {
		s = toSide(p, float64(z), s)
	}
	return float32(s)
}

// Tie reports whether a sum rounded to float64 may be a tie of float32, so that
// it takes more than another rounding. Others are what [Float32] rounds to: also
// the values of float32, such as sums of small integers, but for those below its
// normal numbers, whose ties lie elsewhere.
func Tie(s float64) bool {
	const normal = 1023 - 126 // the exponent of float32's least normal number
	b := math.Float64bits(s)
	return b<<36 == 0 && (b<<35 != 0 || b<<1>>53 < normal && b<<1 != 0)
}

// toSide is a float64 that rounds to float32 as p + z does, s being that sum in
// float64. What s lacks, by Knuth's two-sum, tells on which side of it the sum
// is.
func toSide(p, z, s float64) float64 {
	if math.IsInf(s, 0) || s == 0 {
		return s
	}
	back := s - p
	lack := (p - (s - back)) + (z - back)
	switch bits := math.Float64bits(s); {
	case lack == 0:
		return s
	case lack > 0 == (s > 0):
		return math.Float64frombits(bits + 1)
	default:
		return math.Float64frombits(bits - 1)
	}
}
