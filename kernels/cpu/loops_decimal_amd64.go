//go:build amd64 && !purego

package cpu

// decimalStep is the values that the assembly of the family takes at a time.
const decimalStep = 32

func (l *decimalLoops) avx2() {
	l.narrow, l.widen = wholeNarrow(narrowDecimalsAVX2), wholeWiden(widenDecimalsAVX2)
}

func (l *decimalLoops) avx512() {
	l.narrow, l.widen = wholeNarrow(narrowDecimalsAVX512), wholeWiden(widenDecimalsAVX512)
}

// wholeNarrow has assembly take the whole steps and the loop in Go what is left.
func wholeNarrow(steps func(dst []int64, src [][2]uint64) (magnitude, wide uint64)) func(dst []int64, src [][2]uint64) (magnitude, wide uint64) {
	return func(dst []int64, src [][2]uint64) (magnitude, wide uint64) {
		k := len(src) &^ (decimalStep - 1)
		magnitude, wide = steps(dst[:k], src[:k])
		if k < len(src) {
			m, w := narrowDecimals(dst[k:], src[k:])
			magnitude, wide = magnitude|m, wide|w
		}
		return magnitude, wide
	}
}

func wholeWiden(steps func(dst [][2]uint64, src []int64)) func(dst [][2]uint64, src []int64) {
	return func(dst [][2]uint64, src []int64) {
		k := len(src) &^ (decimalStep - 1)
		steps(dst[:k], src[:k])
		if k < len(src) {
			widenDecimals(dst[k:], src[k:])
		}
	}
}
