//go:build amd64 && !purego

package cpu

// convertStep is the values that the assembly of the family takes at a time.
const convertStep = 32

func (l *convertLoops) avx2() {
	l.i32ToI64 = wholeConversion(always(convertInt32Int64AVX2), l.i32ToI64)
	l.i32ToF64 = wholeConversion(always(convertInt32Float64AVX2), l.i32ToF64)
	l.f32ToF64 = wholeConversion(always(convertFloat32Float64AVX2), l.f32ToF64)
	l.f64ToF32 = wholeConversion(convertFloat64Float32AVX2, l.f64ToF32)
	l.i64ToI32 = wholeConversion(convertInt64Int32AVX2, l.i64ToI32)
	l.f64ToI32 = wholeConversion(convertFloat64Int32AVX2, l.f64ToI32)
	l.i64ToF64 = wholeConversion(convertInt64Float64AVX2, l.i64ToF64)
	l.f64ToI64 = wholeConversion(convertFloat64Int64AVX2, l.f64ToI64)
}

func (l *convertLoops) avx512() {
	l.i32ToI64 = wholeConversion(always(convertInt32Int64AVX512), l.i32ToI64)
	l.i32ToF64 = wholeConversion(always(convertInt32Float64AVX512), l.i32ToF64)
	l.f32ToF64 = wholeConversion(always(convertFloat32Float64AVX512), l.f32ToF64)
	l.f64ToF32 = wholeConversion(convertFloat64Float32AVX512, l.f64ToF32)
	l.i64ToI32 = wholeConversion(convertInt64Int32AVX512, l.i64ToI32)
	l.f64ToI32 = wholeConversion(convertFloat64Int32AVX512, l.f64ToI32)
	l.i64ToF64 = wholeConversion(convertInt64Float64AVX512, l.i64ToF64)
	l.f64ToI64 = wholeConversion(convertFloat64Int64AVX512, l.f64ToI64)
}

// wholeConversion has assembly take the whole steps and the loop of the tier
// below what is left.
func wholeConversion[F, T number](steps, rest func(dst []T, src []F) bool) func(dst []T, src []F) bool {
	return func(dst []T, src []F) bool {
		k := len(src) &^ (convertStep - 1)
		bad := steps(dst[:k], src[:k])
		return rest(dst[k:], src[k:]) || bad
	}
}

// always is a conversion that every value fits.
func always[F, T number](steps func(dst []T, src []F)) func(dst []T, src []F) bool {
	return func(dst []T, src []F) bool {
		steps(dst, src)
		return false
	}
}
