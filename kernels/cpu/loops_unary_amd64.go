//go:build amd64 && !purego

package cpu

import "github.com/volley-go/volley/kernels"

func (l *unaryLoops) avx2() {
	l.i8.wholeSigned(negateInt8AVX2, absoluteInt8AVX2)
	l.i16.wholeSigned(negateInt16AVX2, absoluteInt16AVX2)
	l.i32.wholeSigned(negateInt32AVX2, absoluteInt32AVX2)
	l.i64.wholeSigned(negateInt64AVX2, absoluteInt64AVX2)
	l.f32.wholeFloats(map[kernels.UnaryOp]func(dst, a []float32){
		kernels.Negate: negateFloat32AVX2, kernels.Abs: absoluteFloat32AVX2, kernels.Sign: signFloat32AVX2, kernels.Sqrt: sqrtFloat32AVX2,
		kernels.Floor: floorFloat32AVX2, kernels.Ceil: ceilFloat32AVX2, kernels.Trunc: truncFloat32AVX2, kernels.Round: roundFloat32AVX2,
	})
	l.f64.wholeFloats(map[kernels.UnaryOp]func(dst, a []float64){
		kernels.Negate: negateFloat64AVX2, kernels.Abs: absoluteFloat64AVX2, kernels.Sign: signFloat64AVX2, kernels.Sqrt: sqrtFloat64AVX2,
		kernels.Floor: floorFloat64AVX2, kernels.Ceil: ceilFloat64AVX2, kernels.Trunc: truncFloat64AVX2, kernels.Round: roundFloat64AVX2,
	})
}

func (l *unaryLoops) avx512() {
	l.i8.wholeSigned(negateInt8AVX512, absoluteInt8AVX512)
	l.i16.wholeSigned(negateInt16AVX512, absoluteInt16AVX512)
	l.i32.wholeSigned(negateInt32AVX512, absoluteInt32AVX512)
	l.i64.wholeSigned(negateInt64AVX512, absoluteInt64AVX512)
	l.f32.wholeFloats(map[kernels.UnaryOp]func(dst, a []float32){
		kernels.Negate: negateFloat32AVX512, kernels.Abs: absoluteFloat32AVX512, kernels.Sign: signFloat32AVX512, kernels.Sqrt: sqrtFloat32AVX512,
		kernels.Floor: floorFloat32AVX512, kernels.Ceil: ceilFloat32AVX512, kernels.Trunc: truncFloat32AVX512, kernels.Round: roundFloat32AVX512,
	})
	l.f64.wholeFloats(map[kernels.UnaryOp]func(dst, a []float64){
		kernels.Negate: negateFloat64AVX512, kernels.Abs: absoluteFloat64AVX512, kernels.Sign: signFloat64AVX512, kernels.Sqrt: sqrtFloat64AVX512,
		kernels.Floor: floorFloat64AVX512, kernels.Ceil: ceilFloat64AVX512, kernels.Trunc: truncFloat64AVX512, kernels.Round: roundFloat64AVX512,
	})
}

// wholeFloats has assembly take the whole steps and the loops of the tier below
// what is left.
func (u *unaries[T]) wholeFloats(all map[kernels.UnaryOp]func(dst, a []T)) {
	for op, steps := range all {
		rest := u.float[op]
		u.float[op] = func(dst, a []T) {
			k := wholeSteps(dst)
			steps(dst[:k], a[:k])
			rest(dst[k:], a[k:])
		}
	}
}

func (u *unaries[T]) wholeSigned(negate, absolute func(dst, a []T) bool) {
	for op, steps := range []func(dst, a []T) bool{kernels.Negate: negate, kernels.Abs: absolute} {
		rest := u.signed[op]
		u.signed[op] = func(dst, a []T) bool {
			k := wholeSteps(dst)
			least := steps(dst[:k], a[:k])
			return rest(dst[k:], a[k:]) || least
		}
	}
}
