package cpu

import (
	"math"
	"math/bits"
	"unsafe"
)

// The loops of Arithmetic. Each writes a op b to dst, all of one length; where
// overflow or a division by zero is looked for, the result says that some row
// has it and the caller finds out which: the loops themselves do not branch.

func addColumns[T number](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

func addRight[T number](dst, a []T, b T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] + b
	}
}

func subtractColumns[T number](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] - b[i]
	}
}

func subtractRight[T number](dst, a []T, b T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] - b
	}
}

func subtractLeft[T number](dst []T, a T, b []T) {
	b = b[:len(dst)]
	for i := range dst {
		dst[i] = a - b[i]
	}
}

func multiplyColumns[T number](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b[i]
	}
}

func multiplyRight[T number](dst, a []T, b T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] * b
	}
}

func divideColumns[T float](dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = a[i] / b[i]
	}
}

func divideRight[T float](dst, a []T, b T) {
	a = a[:len(dst)]
	for i := range dst {
		dst[i] = a[i] / b
	}
}

func divideLeft[T float](dst []T, a T, b []T) {
	b = b[:len(dst)]
	for i := range dst {
		dst[i] = a / b[i]
	}
}

func moduloFloats[T float](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] = T(math.Mod(float64(a[i]), float64(b[i])))
	}
	return false
}

func divideIntegers[T integer](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	zero := false
	for i := range dst {
		if b[i] == 0 {
			zero = true
			continue
		}
		dst[i] = a[i] / b[i] // the least integer by -1 wraps to itself, as the language says
	}
	return zero
}

func moduloIntegers[T integer](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	zero := false
	for i := range dst {
		if b[i] == 0 {
			zero = true
			continue
		}
		dst[i] = a[i] % b[i]
	}
	return zero
}

// divideSigned is divideIntegers that finds the least integer by -1 too: of
// those with a negative divisor only it has a negative result and dividend.
func divideSigned[T signed](dst, a, b []T) bool {
	bad := divideIntegers(dst, a, b)
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		bad = bad || b[i] == -1 && a[i] < 0 && dst[i] < 0
	}
	return bad
}

func addSigned[T signed](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	var signs T
	for i := range dst {
		x, y := a[i], b[i]
		r := x + y
		dst[i] = r
		signs |= (x ^ r) & (y ^ r)
	}
	return signs < 0
}

func subtractSigned[T signed](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	var signs T
	for i := range dst {
		x, y := a[i], b[i]
		r := x - y
		dst[i] = r
		signs |= (x ^ y) & (x ^ r)
	}
	return signs < 0
}

func addUnsigned[T unsigned](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	var over byte
	for i := range dst {
		r := a[i] + b[i]
		dst[i] = r
		over |= bit(r < b[i])
	}
	return over != 0
}

func subtractUnsigned[T unsigned](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	var over byte
	for i := range dst {
		x, y := a[i], b[i]
		dst[i] = x - y
		over |= bit(x < y)
	}
	return over != 0
}

func multiplySigned[T signed](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	var over int64
	if unsafe.Sizeof(dst[0]) < 8 {
		for i := range dst {
			p := int64(a[i]) * int64(b[i])
			dst[i] = T(p)
			over |= int64(T(p)) ^ p
		}
		return over != 0
	}
	for i := range dst {
		x, y := int64(a[i]), int64(b[i])
		hi, lo := bits.Mul64(uint64(x), uint64(y))
		high := int64(hi) - x>>63&y - y>>63&x // the signed product's
		dst[i] = T(lo)
		over |= high ^ int64(lo)>>63
	}
	return over != 0
}

func multiplyUnsigned[T unsigned](dst, a, b []T) bool {
	a, b = a[:len(dst)], b[:len(dst)]
	var over uint64
	if unsafe.Sizeof(dst[0]) < 8 {
		for i := range dst {
			p := uint64(a[i]) * uint64(b[i])
			dst[i] = T(p)
			over |= uint64(T(p)) ^ p
		}
		return over != 0
	}
	for i := range dst {
		hi, lo := bits.Mul64(uint64(a[i]), uint64(b[i]))
		dst[i] = T(lo)
		over |= hi
	}
	return over != 0
}
