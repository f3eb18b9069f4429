package cpu

import (
	"math"
	"unsafe"
)

// The loops of casts between numbers. Each writes the values of src as the
// other type has them to dst, which is no shorter, and reports whether some
// value did not fit; integers are cut to the width then.

func convertIntegers[F, T integer](dst []T, src []F) bool {
	dst = dst[:len(src)]
	var bad byte
	for i, v := range src {
		t := T(v)
		dst[i] = t
		bad |= bit(F(t) != v) | (bit(v < 0) ^ bit(t < 0))
	}
	return bad != 0
}

func integersToFloats[F integer, T float](dst []T, src []F) bool {
	_, above := limits[F]()
	dst = dst[:len(src)]
	var bad byte
	for i, v := range src {
		t := T(v)
		dst[i] = t
		if float64(t) >= above { // rounded up past the greatest: it does not convert back
			bad = 1
		} else {
			bad |= bit(F(t) != v)
		}
	}
	return bad != 0
}

// limits are the least value of an integer type and the power of two above its
// greatest, both exact as floats.
func limits[T integer]() (least, above float64) {
	var zero T
	bits := float64(8 * unsafe.Sizeof(zero))
	if zero-1 > 0 {
		return 0, math.Exp2(bits)
	}
	return -math.Exp2(bits - 1), math.Exp2(bits - 1)
}

// floatsToIntegers has the greatest and the least integer for what is beyond
// them, and 0 for NaN.
func floatsToIntegers[F float, T integer](dst []T, src []F) bool {
	least, above := limits[T]()
	var greatest T
	greatest--
	if greatest < 0 { // signed: all bits but the highest
		greatest = T(uint64(math.MaxInt64) >> (64 - 8*unsafe.Sizeof(greatest)))
	}
	lowest := T(0)
	if least < 0 {
		lowest = -greatest - 1
	}
	dst = dst[:len(src)]
	bad := false
	for i, v := range src {
		whole := math.Trunc(float64(v))
		if whole >= least && whole < above {
			dst[i] = T(whole)
			bad = bad || whole != float64(v)
			continue
		}
		bad = true
		switch {
		case whole >= above:
			dst[i] = greatest
		case whole < least:
			dst[i] = lowest
		default: // NaN
			dst[i] = 0
		}
	}
	return bad
}

// convertFloats finds the infinities that were none.
func convertFloats[F, T float](dst []T, src []F) bool {
	dst = dst[:len(src)]
	var bad byte
	for i, v := range src {
		t := T(v)
		dst[i] = t
		bad |= bit(math.Abs(float64(t)) > math.MaxFloat64) &^ bit(math.Abs(float64(v)) > math.MaxFloat64)
	}
	return bad != 0
}
