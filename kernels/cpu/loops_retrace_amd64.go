//go:build amd64 && !purego

package cpu

func (l *retraceLoops) avx2() {
	l.clamp, l.offsets, l.back = wholeClamp(clampAVX2), offsetsAVX2, backAVX2
}

func (l *retraceLoops) avx512() {
	l.clamp, l.offsets, l.back = wholeClamp(clampAVX512), offsetsAVX512, backAVX512
}

// wholeClamp has assembly take whole steps of eight words.
func wholeClamp(steps func(offsets, words []uint64, base, limit uint64)) func(offsets, words []uint64, base, limit uint64) {
	return func(offsets, words []uint64, base, limit uint64) {
		k := len(words) &^ 7
		steps(offsets[:k], words[:k], base, limit)
		clampWords(offsets[k:], words[k:], base, limit)
	}
}
