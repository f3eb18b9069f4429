//go:build amd64 && !purego

package cpu

// chooseStep is the rows that the assembly of the family takes at a time.
const chooseStep = 64

func (l *chooseLoops) avx2() {
	l.u8, l.u16 = wholeChoice(choose8AVX2, l.u8), wholeChoice(choose16AVX2, l.u16)
	l.u32, l.u64 = wholeChoice(choose32AVX2, l.u32), wholeChoice(choose64AVX2, l.u64)
}

func (l *chooseLoops) avx512() {
	l.u8, l.u16 = wholeChoice(choose8AVX512, l.u8), wholeChoice(choose16AVX512, l.u16)
	l.u32, l.u64 = wholeChoice(choose32AVX512, l.u32), wholeChoice(choose64AVX512, l.u64)
}

// wholeChoice has assembly take the whole steps and the loop of the tier below
// what is left.
func wholeChoice[T any](steps, rest func(dst, p, q []T, mask []byte)) func(dst, p, q []T, mask []byte) {
	return func(dst, p, q []T, mask []byte) {
		k := len(dst) &^ (chooseStep - 1)
		steps(dst[:k], p, q, mask)
		if k < len(dst) {
			rest(dst[k:], p[k:], q[k:], mask[k/8:])
		}
	}
}
