//go:build amd64 && !purego

package cpu

// filterStep is the rows that the assembly of the family takes at a time.
const filterStep = 64

func (l *filterLoops) avx2() {
	l.u8, l.u16 = wholeFilter(filter8AVX2), wholeFilter(filter16AVX2)
	l.u32, l.u64 = wholeFilter(filter32AVX2), wholeFilter(filter64AVX2)
	l.compressWords = compressWordsAVX2
}

func (l *filterLoops) avx512() {
	l.u8, l.u16 = wholeFilter(filter8AVX512), wholeFilter(filter16AVX512)
	l.u32, l.u64 = wholeFilter(filter32AVX512), wholeFilter(filter64AVX512)
}

// wholeFilter has assembly take what it can store in whole registers, and Go
// the last 64 values that are kept.
func wholeFilter[T any](steps func(dst, src []T, mask []byte) (rows, kept int)) func(dst, src []T, mask []byte) {
	return func(dst, src []T, mask []byte) {
		rows, kept := steps(dst, src[:len(src)&^(filterStep-1)], mask)
		if kept < len(dst) {
			keepValues(dst[kept:], src[rows:], mask[rows/8:])
		}
	}
}
