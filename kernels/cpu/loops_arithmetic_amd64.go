//go:build amd64 && !purego

package cpu

import (
	"unsafe"

	"github.com/volley-go/volley/kernels"
)

// arithmeticStep is the bytes of values that the assembly of the family takes at
// a time.
const arithmeticStep = 256

func (l *arithmeticLoops) avx2() {
	wholeArithmetics(&l.i8,
		[4]func(dst, a, b []uint8){addColumnsUint8AVX2, subtractColumnsUint8AVX2, multiplyColumnsUint8AVX2}, [4]func(dst, a []uint8, b uint8){addRightUint8AVX2, subtractRightUint8AVX2, multiplyRightUint8AVX2}, [4]func(dst []uint8, a uint8, b []uint8){1: subtractLeftUint8AVX2})
	l.i8.wholeChecked(addCheckedInt8AVX2, subtractCheckedInt8AVX2)
	wholeArithmetics(&l.u8,
		[4]func(dst, a, b []uint8){addColumnsUint8AVX2, subtractColumnsUint8AVX2, multiplyColumnsUint8AVX2}, [4]func(dst, a []uint8, b uint8){addRightUint8AVX2, subtractRightUint8AVX2, multiplyRightUint8AVX2}, [4]func(dst []uint8, a uint8, b []uint8){1: subtractLeftUint8AVX2})
	l.u8.wholeChecked(addCheckedUint8AVX2, subtractCheckedUint8AVX2)
	wholeArithmetics(&l.i16,
		[4]func(dst, a, b []uint16){addColumnsUint16AVX2, subtractColumnsUint16AVX2, multiplyColumnsUint16AVX2}, [4]func(dst, a []uint16, b uint16){addRightUint16AVX2, subtractRightUint16AVX2, multiplyRightUint16AVX2}, [4]func(dst []uint16, a uint16, b []uint16){1: subtractLeftUint16AVX2})
	l.i16.wholeChecked(addCheckedInt16AVX2, subtractCheckedInt16AVX2)
	wholeArithmetics(&l.u16,
		[4]func(dst, a, b []uint16){addColumnsUint16AVX2, subtractColumnsUint16AVX2, multiplyColumnsUint16AVX2}, [4]func(dst, a []uint16, b uint16){addRightUint16AVX2, subtractRightUint16AVX2, multiplyRightUint16AVX2}, [4]func(dst []uint16, a uint16, b []uint16){1: subtractLeftUint16AVX2})
	l.u16.wholeChecked(addCheckedUint16AVX2, subtractCheckedUint16AVX2)
	wholeArithmetics(&l.i32,
		[4]func(dst, a, b []uint32){addColumnsUint32AVX2, subtractColumnsUint32AVX2, multiplyColumnsUint32AVX2}, [4]func(dst, a []uint32, b uint32){addRightUint32AVX2, subtractRightUint32AVX2, multiplyRightUint32AVX2}, [4]func(dst []uint32, a uint32, b []uint32){1: subtractLeftUint32AVX2})
	l.i32.wholeChecked(addCheckedInt32AVX2, subtractCheckedInt32AVX2)
	wholeArithmetics(&l.u32,
		[4]func(dst, a, b []uint32){addColumnsUint32AVX2, subtractColumnsUint32AVX2, multiplyColumnsUint32AVX2}, [4]func(dst, a []uint32, b uint32){addRightUint32AVX2, subtractRightUint32AVX2, multiplyRightUint32AVX2}, [4]func(dst []uint32, a uint32, b []uint32){1: subtractLeftUint32AVX2})
	l.u32.wholeChecked(addCheckedUint32AVX2, subtractCheckedUint32AVX2)
	wholeArithmetics(&l.i64,
		[4]func(dst, a, b []uint64){addColumnsUint64AVX2, subtractColumnsUint64AVX2, multiplyColumnsUint64AVX2}, [4]func(dst, a []uint64, b uint64){addRightUint64AVX2, subtractRightUint64AVX2, multiplyRightUint64AVX2}, [4]func(dst []uint64, a uint64, b []uint64){1: subtractLeftUint64AVX2})
	l.i64.wholeChecked(addCheckedInt64AVX2, subtractCheckedInt64AVX2)
	wholeArithmetics(&l.u64,
		[4]func(dst, a, b []uint64){addColumnsUint64AVX2, subtractColumnsUint64AVX2, multiplyColumnsUint64AVX2}, [4]func(dst, a []uint64, b uint64){addRightUint64AVX2, subtractRightUint64AVX2, multiplyRightUint64AVX2}, [4]func(dst []uint64, a uint64, b []uint64){1: subtractLeftUint64AVX2})
	l.u64.wholeChecked(addCheckedUint64AVX2, subtractCheckedUint64AVX2)
	wholeArithmetics(&l.f32,
		[4]func(dst, a, b []float32){addColumnsFloat32AVX2, subtractColumnsFloat32AVX2, multiplyColumnsFloat32AVX2, divideColumnsFloat32AVX2},
		[4]func(dst, a []float32, b float32){addRightFloat32AVX2, subtractRightFloat32AVX2, multiplyRightFloat32AVX2, divideRightFloat32AVX2},
		[4]func(dst []float32, a float32, b []float32){1: subtractLeftFloat32AVX2, 3: divideLeftFloat32AVX2})
	wholeArithmetics(&l.f64,
		[4]func(dst, a, b []float64){addColumnsFloat64AVX2, subtractColumnsFloat64AVX2, multiplyColumnsFloat64AVX2, divideColumnsFloat64AVX2},
		[4]func(dst, a []float64, b float64){addRightFloat64AVX2, subtractRightFloat64AVX2, multiplyRightFloat64AVX2, divideRightFloat64AVX2},
		[4]func(dst []float64, a float64, b []float64){1: subtractLeftFloat64AVX2, 3: divideLeftFloat64AVX2})
}

func (l *arithmeticLoops) avx512() {
	wholeArithmetics(&l.i8,
		[4]func(dst, a, b []uint8){addColumnsUint8AVX512, subtractColumnsUint8AVX512, multiplyColumnsUint8AVX512}, [4]func(dst, a []uint8, b uint8){addRightUint8AVX512, subtractRightUint8AVX512, multiplyRightUint8AVX512}, [4]func(dst []uint8, a uint8, b []uint8){1: subtractLeftUint8AVX512})
	l.i8.wholeChecked(addCheckedInt8AVX512, subtractCheckedInt8AVX512)
	wholeArithmetics(&l.u8,
		[4]func(dst, a, b []uint8){addColumnsUint8AVX512, subtractColumnsUint8AVX512, multiplyColumnsUint8AVX512}, [4]func(dst, a []uint8, b uint8){addRightUint8AVX512, subtractRightUint8AVX512, multiplyRightUint8AVX512}, [4]func(dst []uint8, a uint8, b []uint8){1: subtractLeftUint8AVX512})
	l.u8.wholeChecked(addCheckedUint8AVX512, subtractCheckedUint8AVX512)
	wholeArithmetics(&l.i16,
		[4]func(dst, a, b []uint16){addColumnsUint16AVX512, subtractColumnsUint16AVX512, multiplyColumnsUint16AVX512}, [4]func(dst, a []uint16, b uint16){addRightUint16AVX512, subtractRightUint16AVX512, multiplyRightUint16AVX512}, [4]func(dst []uint16, a uint16, b []uint16){1: subtractLeftUint16AVX512})
	l.i16.wholeChecked(addCheckedInt16AVX512, subtractCheckedInt16AVX512)
	wholeArithmetics(&l.u16,
		[4]func(dst, a, b []uint16){addColumnsUint16AVX512, subtractColumnsUint16AVX512, multiplyColumnsUint16AVX512}, [4]func(dst, a []uint16, b uint16){addRightUint16AVX512, subtractRightUint16AVX512, multiplyRightUint16AVX512}, [4]func(dst []uint16, a uint16, b []uint16){1: subtractLeftUint16AVX512})
	l.u16.wholeChecked(addCheckedUint16AVX512, subtractCheckedUint16AVX512)
	wholeArithmetics(&l.i32,
		[4]func(dst, a, b []uint32){addColumnsUint32AVX512, subtractColumnsUint32AVX512, multiplyColumnsUint32AVX512}, [4]func(dst, a []uint32, b uint32){addRightUint32AVX512, subtractRightUint32AVX512, multiplyRightUint32AVX512}, [4]func(dst []uint32, a uint32, b []uint32){1: subtractLeftUint32AVX512})
	l.i32.wholeChecked(addCheckedInt32AVX512, subtractCheckedInt32AVX512)
	wholeArithmetics(&l.u32,
		[4]func(dst, a, b []uint32){addColumnsUint32AVX512, subtractColumnsUint32AVX512, multiplyColumnsUint32AVX512}, [4]func(dst, a []uint32, b uint32){addRightUint32AVX512, subtractRightUint32AVX512, multiplyRightUint32AVX512}, [4]func(dst []uint32, a uint32, b []uint32){1: subtractLeftUint32AVX512})
	l.u32.wholeChecked(addCheckedUint32AVX512, subtractCheckedUint32AVX512)
	wholeArithmetics(&l.i64,
		[4]func(dst, a, b []uint64){addColumnsUint64AVX512, subtractColumnsUint64AVX512, multiplyColumnsUint64AVX512}, [4]func(dst, a []uint64, b uint64){addRightUint64AVX512, subtractRightUint64AVX512, multiplyRightUint64AVX512}, [4]func(dst []uint64, a uint64, b []uint64){1: subtractLeftUint64AVX512})
	l.i64.wholeChecked(addCheckedInt64AVX512, subtractCheckedInt64AVX512)
	wholeArithmetics(&l.u64,
		[4]func(dst, a, b []uint64){addColumnsUint64AVX512, subtractColumnsUint64AVX512, multiplyColumnsUint64AVX512}, [4]func(dst, a []uint64, b uint64){addRightUint64AVX512, subtractRightUint64AVX512, multiplyRightUint64AVX512}, [4]func(dst []uint64, a uint64, b []uint64){1: subtractLeftUint64AVX512})
	l.u64.wholeChecked(addCheckedUint64AVX512, subtractCheckedUint64AVX512)
	wholeArithmetics(&l.f32,
		[4]func(dst, a, b []float32){addColumnsFloat32AVX512, subtractColumnsFloat32AVX512, multiplyColumnsFloat32AVX512, divideColumnsFloat32AVX512},
		[4]func(dst, a []float32, b float32){addRightFloat32AVX512, subtractRightFloat32AVX512, multiplyRightFloat32AVX512, divideRightFloat32AVX512},
		[4]func(dst []float32, a float32, b []float32){1: subtractLeftFloat32AVX512, 3: divideLeftFloat32AVX512})
	wholeArithmetics(&l.f64,
		[4]func(dst, a, b []float64){addColumnsFloat64AVX512, subtractColumnsFloat64AVX512, multiplyColumnsFloat64AVX512, divideColumnsFloat64AVX512},
		[4]func(dst, a []float64, b float64){addRightFloat64AVX512, subtractRightFloat64AVX512, multiplyRightFloat64AVX512, divideRightFloat64AVX512},
		[4]func(dst []float64, a float64, b []float64){1: subtractLeftFloat64AVX512, 3: divideLeftFloat64AVX512})
}

// wholeArithmetics has assembly, which for integers is written for unsigned ones,
// take the whole steps and the loops of the tier below what is left.
func wholeArithmetics[T, U number](l *arithmetics[T], columns [4]func(dst, a, b []U), right [4]func(dst, a []U, b U), left [4]func(dst []U, a U, b []U)) {
	for op := range columns {
		if steps := columns[op]; steps != nil {
			rest := l.columns[op]
			l.columns[op] = func(dst, a, b []T) {
				k := wholeSteps(dst)
				steps(bitsAs[U](dst[:k]), bitsAs[U](a[:k]), bitsAs[U](b[:k]))
				rest(dst[k:], a[k:], b[k:])
			}
		}
		if steps := right[op]; steps != nil {
			rest := l.right[op]
			l.right[op] = func(dst, a []T, b T) {
				k := wholeSteps(dst)
				steps(bitsAs[U](dst[:k]), bitsAs[U](a[:k]), bitAs[U](b))
				rest(dst[k:], a[k:], b)
			}
		}
		if steps := left[op]; steps != nil {
			rest := l.left[op]
			l.left[op] = func(dst []T, a T, b []T) {
				k := wholeSteps(dst)
				steps(bitsAs[U](dst[:k]), bitAs[U](a), bitsAs[U](b[:k]))
				rest(dst[k:], a, b[k:])
			}
		}
	}
}

func (l *arithmetics[T]) wholeChecked(add, subtract func(dst, a, b []T) bool) {
	for op, steps := range []func(dst, a, b []T) bool{kernels.Add: add, kernels.Subtract: subtract} {
		rest := l.checked[op]
		l.checked[op] = func(dst, a, b []T) bool {
			k := wholeSteps(dst)
			bad := steps(dst[:k], a[:k], b[:k])
			return rest(dst[k:], a[k:], b[k:]) || bad
		}
	}
}

// wholeSteps is the number of values of dst that make whole steps.
func wholeSteps[T number](dst []T) int {
	var t T
	return len(dst) &^ (arithmeticStep/int(unsafe.Sizeof(t)) - 1)
}

// bitAs is a value as one of another type of the same size.
func bitAs[U, T number](v T) U { return *(*U)(unsafe.Pointer(&v)) }
