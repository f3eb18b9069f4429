package cpu

import (
	"unsafe"

	"github.com/volley-go/volley/kernels"
)

// arithmeticLoops compute on two numbers of each type. They are bound by the
// caches, which on Zen 4 take the two loads and the store of 4096 rows at 140 to
// 220 GB/s where all three columns fit the first level (8 and 16 bits) and at 90
// to 110 GB/s where they do not, whatever the operation is but float64 division
// (70 GB/s). The loops in Go reach 6 to 8 GB/s for 8 bits, less than one core
// reads from memory, 17 for 16 bits, 31 for 32 bits, 20 to 57 for 64 bits and 70
// for float64; the division of floats 15 to 20. So there are loops of all types.
// Checked multiplication, and division and remainder of integers, for which
// processors have no vectors, stay in Go.
type arithmeticLoops struct {
	i8  arithmetics[int8]
	i16 arithmetics[int16]
	i32 arithmetics[int32]
	i64 arithmetics[int64]
	u8  arithmetics[uint8]
	u16 arithmetics[uint16]
	u32 arithmetics[uint32]
	u64 arithmetics[uint64]
	f32 arithmetics[float32]
	f64 arithmetics[float64]
}

// arithmetics are the operations on numbers of one type, by
// kernels.ArithmeticOp: Divide is there for floats, checked for integers. Those
// with a value on the left are Subtract and Divide; the others commute. dst and
// the columns are of one length; integers wrap.
type arithmetics[T number] struct {
	columns [4]func(dst, a, b []T)
	right   [4]func(dst, a []T, b T)
	left    [4]func(dst []T, a T, b []T)
	checked [2]func(dst, a, b []T) bool // reports whether a row did not fit
}

func goArithmeticLoops() arithmeticLoops {
	return arithmeticLoops{
		i8:  goSignedArithmetics[int8](),
		i16: goSignedArithmetics[int16](),
		i32: goSignedArithmetics[int32](),
		i64: goSignedArithmetics[int64](),
		u8:  goUnsignedArithmetics[uint8](),
		u16: goUnsignedArithmetics[uint16](),
		u32: goUnsignedArithmetics[uint32](),
		u64: goUnsignedArithmetics[uint64](),
		f32: goFloatArithmetics[float32](),
		f64: goFloatArithmetics[float64](),
	}
}

func goArithmetics[T number]() arithmetics[T] {
	var a arithmetics[T]
	a.columns = [4]func(dst, a, b []T){addColumns[T], subtractColumns[T], multiplyColumns[T]}
	a.right = [4]func(dst, a []T, b T){addRight[T], subtractRight[T], multiplyRight[T]}
	a.left[kernels.Subtract] = subtractLeft[T]
	return a
}

func goSignedArithmetics[T signed]() arithmetics[T] {
	a := goArithmetics[T]()
	a.checked = [2]func(dst, a, b []T) bool{addSigned[T], subtractSigned[T]}
	return a
}

func goUnsignedArithmetics[T unsigned]() arithmetics[T] {
	a := goArithmetics[T]()
	a.checked = [2]func(dst, a, b []T) bool{addUnsigned[T], subtractUnsigned[T]}
	return a
}

func goFloatArithmetics[T float]() arithmetics[T] {
	a := goArithmetics[T]()
	a.columns[kernels.Divide], a.right[kernels.Divide], a.left[kernels.Divide] = divideColumns[T], divideRight[T], divideLeft[T]
	return a
}

// arithmeticsOf are the loops for a type.
func arithmeticsOf[T number](l *loops) *arithmetics[T] {
	c := &l.arithmetic
	var t T
	var found any
	switch any(t).(type) {
	case int8:
		found = &c.i8
	case int16:
		found = &c.i16
	case int32:
		found = &c.i32
	case int64:
		found = &c.i64
	case uint8:
		found = &c.u8
	case uint16:
		found = &c.u16
	case uint32:
		found = &c.u32
	case uint64:
		found = &c.u64
	case float32:
		found = &c.f32
	case float64:
		found = &c.f64
	}
	return found.(*arithmetics[T])
}

// bitsAs are the values of a slice as those of another type of the same size.
func bitsAs[U, T number](v []T) []U {
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(v))), len(v))
}
