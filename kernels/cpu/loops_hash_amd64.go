//go:build amd64 && !purego

package cpu

// hashStep is the values that the assembly of the family takes at a time.
const hashStep = 32

func (l *hashLoops) avx2() {
	l.i8, l.i16, l.i32, l.i64 = wholeHash(hashInt8AVX2, l.i8), wholeHash(hashInt16AVX2, l.i16), wholeHash(hashInt32AVX2, l.i32), wholeHash(hashInt64AVX2, l.i64)
	l.u8, l.u16, l.u32, l.u64 = wholeHash(hashUint8AVX2, l.u8), wholeHash(hashUint16AVX2, l.u16), wholeHash(hashUint32AVX2, l.u32), wholeHash(hashUint64AVX2, l.u64)
	l.f32, l.f64 = wholeHash(hashFloat32AVX2, l.f32), wholeHash(hashFloat64AVX2, l.f64)
}

func (l *hashLoops) avx512() {
	l.i8, l.i16, l.i32, l.i64 = wholeHash(hashInt8AVX512, l.i8), wholeHash(hashInt16AVX512, l.i16), wholeHash(hashInt32AVX512, l.i32), wholeHash(hashInt64AVX512, l.i64)
	l.u8, l.u16, l.u32, l.u64 = wholeHash(hashUint8AVX512, l.u8), wholeHash(hashUint16AVX512, l.u16), wholeHash(hashUint32AVX512, l.u32), wholeHash(hashUint64AVX512, l.u64)
	l.f32, l.f64 = wholeHash(hashFloat32AVX512, l.f32), wholeHash(hashFloat64AVX512, l.f64)
}

// wholeHash has assembly take the whole steps and the loop of the tier below what
// is left.
func wholeHash[T number](steps, rest func(h []uint64, v []T)) func(h []uint64, v []T) {
	return func(h []uint64, v []T) {
		k := len(v) &^ (hashStep - 1)
		steps(h[:k], v[:k])
		rest(h[k:], v[k:])
	}
}
