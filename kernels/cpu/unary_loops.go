package cpu

import (
	"math"
	"unsafe"
)

// The loops of Unary. Each writes op of a to dst, of one length; those of signed
// integers report whether the least of them is there, which has no negation.

func negateSigned[T signed](dst, a []T) bool {
	dst = dst[:len(a)]
	var least T // negative where a value is that of its own negation
	for i, v := range a {
		dst[i] = -v
		least |= v & -v
	}
	return least < 0
}

func absoluteSigned[T signed](dst, a []T) bool {
	dst = dst[:len(a)]
	var least T
	for i, v := range a {
		r := -v
		least |= v & r
		if v >= 0 {
			r = v
		}
		dst[i] = r
	}
	return least < 0
}

func negateFloats[T float](dst, a []T) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = -v
	}
}

// absoluteFloats clears the signs of NaN too, and leaves the rest of it.
func absoluteFloats[T float](dst, a []T) {
	var t T
	if unsafe.Sizeof(t) == 4 {
		clearSigns(bitsAs[uint32](dst), bitsAs[uint32](a), 1<<31)
		return
	}
	clearSigns(bitsAs[uint64](dst), bitsAs[uint64](a), 1<<63)
}

func clearSigns[T uint32 | uint64](dst, a []T, sign T) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = v &^ sign
	}
}

func signOfFloats[T float](dst, a []T) {
	dst = dst[:len(a)]
	for i, v := range a {
		if v > 0 {
			v = 1
		} else if v < 0 {
			v = -1
		}
		dst[i] = v
	}
}

func sqrtFloats[T float](dst, a []T) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = T(math.Sqrt(float64(v))) // rounded once: a float64 has more than twice a float32's bits
	}
}

func expFloats[T float](dst, a []T) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = T(math.Exp(float64(v)))
	}
}

func logFloats[T float](dst, a []T) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = T(math.Log(float64(v)))
	}
}

func floorFloats[T float](dst, a []T) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = T(math.Floor(float64(v)))
	}
}

func ceilFloats[T float](dst, a []T) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = T(math.Ceil(float64(v)))
	}
}

func truncFloats[T float](dst, a []T) {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = T(math.Trunc(float64(v)))
	}
}

// roundFloats adds one to what truncation leaves where the rest, which is exact,
// is a half at least.
func roundFloats[T float](dst, a []T) {
	dst = dst[:len(a)]
	for i, v := range a {
		whole := T(math.Trunc(float64(v)))
		add := float64(bit(math.Abs(float64(v-whole)) >= 0.5))
		dst[i] = whole + T(math.Copysign(add, float64(v)))
	}
}

// signsOfSigned and the next two report whether a value has no result, as the
// other loops of whole numbers do.
func signsOfSigned[T signed](dst []int8, a []T) bool {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = int8(bit(v > 0)) - int8(bit(v < 0))
	}
	return false
}

func signsOfUnsigned[T unsigned](dst []int8, a []T) bool {
	dst = dst[:len(a)]
	for i, v := range a {
		dst[i] = int8(bit(v != 0))
	}
	return false
}

func negateUnsigned[T unsigned](dst, a []T) bool {
	dst = dst[:len(a)]
	var any T
	for i, v := range a {
		dst[i] = -v
		any |= v
	}
	return any != 0
}
