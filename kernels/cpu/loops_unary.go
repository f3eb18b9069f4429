package cpu

import "github.com/volley-go/volley/kernels"

// unaryLoops compute on one number. They are bound by the caches, which on Zen 4
// take a load and a store of 4096 rows at 45 to 95 GB/s, but for square roots (25
// to 34). In Go they reach 2 GB/s for int8, 5 to 14 for 32 bits and 20 to 46 for
// 64 bits, square roots 6, rounding to the nearest 2 to 3. Exp and Log stay in
// Go: their bits are those of math.Exp and math.Log.
type unaryLoops struct {
	i8  unaries[int8]
	i16 unaries[int16]
	i32 unaries[int32]
	i64 unaries[int64]
	f32 unaries[float32]
	f64 unaries[float64]
}

// unaries are the operations on numbers of one type, by kernels.UnaryOp. dst
// and a are of one length.
type unaries[T number] struct {
	float  [kernels.Round + 1]func(dst, a []T)    // of a float type
	signed [kernels.Abs + 1]func(dst, a []T) bool // of a signed type; reports whether its least value is there, which wraps
}

func goUnaryLoops() unaryLoops {
	return unaryLoops{
		i8:  goSignedUnaries[int8](),
		i16: goSignedUnaries[int16](),
		i32: goSignedUnaries[int32](),
		i64: goSignedUnaries[int64](),
		f32: goFloatUnaries[float32](),
		f64: goFloatUnaries[float64](),
	}
}

func goSignedUnaries[T signed]() (u unaries[T]) {
	u.signed = [...]func(dst, a []T) bool{negateSigned[T], absoluteSigned[T]}
	return u
}

func goFloatUnaries[T float]() (u unaries[T]) {
	u.float = [...]func(dst, a []T){
		kernels.Negate: negateFloats[T], kernels.Abs: absoluteFloats[T], kernels.Sign: signOfFloats[T],
		kernels.Sqrt: sqrtFloats[T], kernels.Exp: expFloats[T], kernels.Log: logFloats[T],
		kernels.Floor: floorFloats[T], kernels.Ceil: ceilFloats[T], kernels.Trunc: truncFloats[T], kernels.Round: roundFloats[T],
	}
	return u
}

// unariesOf are the loops for a type.
func unariesOf[T signed | float](l *loops) *unaries[T] {
	c := &l.unary
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
	case float32:
		found = &c.f32
	case float64:
		found = &c.f64
	}
	return found.(*unaries[T])
}
