//go:build amd64 && !purego

package cpu

// bitmapStep is the bytes that the assembly of the family takes at a time.
const bitmapStep = 256

func (l *bitmapLoops) avx2() {
	l.and, l.or = wholeBytes(andAVX2, l.and), wholeBytes(orAVX2, l.or)
	l.xor, l.andNot = wholeBytes(xorAVX2, l.xor), wholeBytes(andNotAVX2, l.andNot)
	l.count = wholeCount(countAVX2)
}

func (l *bitmapLoops) avx512() {
	l.and, l.or = wholeBytes(andAVX512, l.and), wholeBytes(orAVX512, l.or)
	l.xor, l.andNot = wholeBytes(xorAVX512, l.xor), wholeBytes(andNotAVX512, l.andNot)
	l.count = wholeCount(countAVX512)
}

// wholeBytes has a loop take the whole steps and the one of the tier below
// what is left.
func wholeBytes(steps, rest func(dst, a, b []byte)) func(dst, a, b []byte) {
	return func(dst, a, b []byte) {
		k := len(dst) &^ (bitmapStep - 1)
		steps(dst[:k], a[:k], b[:k])
		if k < len(dst) {
			rest(dst[k:], a[k:], b[k:])
		}
	}
}

func wholeCount(steps func([]byte) int) func([]byte) int {
	return func(b []byte) int {
		k := len(b) &^ (bitmapStep - 1)
		return steps(b[:k]) + countBytes(b[k:])
	}
}
