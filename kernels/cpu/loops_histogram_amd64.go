//go:build amd64 && !purego

package cpu

// histogramStep is how many words the assembly of the family takes at a time.
const histogramStep = 16

func (l *histogramLoops) avx2() {
	l.u32 = wholeHistogram32(histogram32AVX2)
	l.u64 = wholeHistogram(histogramAVX2, countWords[uint64], histogramStep)
	l.hashes = wholeHistogram(histogramHashesAVX2, countHashed, histogramStep)
	l.pairs = wholeHistogram(histogramPairsAVX2, countPairs, 2*histogramStep)
}

func (l *histogramLoops) avx512() {
	l.u32 = wholeHistogram32(histogram32AVX512)
	l.u64 = wholeHistogram(histogramAVX512, countWords[uint64], histogramStep)
	l.hashes = wholeHistogram(histogramHashesAVX512, countHashed, histogramStep)
	l.pairs = wholeHistogram(histogramPairsAVX512, countPairs, 2*histogramStep)
}

// wholeHistogram has assembly take whole steps.
func wholeHistogram(steps func(counts []uint32, apart int, words []uint64, base, shift, mask uint64, ahead int),
	rest func(c counters, words []uint64, d digit), step int) func(c counters, words []uint64, d digit) {
	return func(c counters, words []uint64, d digit) {
		k := len(words) &^ (step - 1)
		steps(c.all, c.apart, words[:k], d.base, uint64(d.shift), d.mask, d.ahead)
		rest(c, words[k:], d)
	}
}

func wholeHistogram32(steps func(counts []uint32, apart int, words []uint32, shift, mask uint64, ahead int)) func(c counters, words []uint32, d digit) {
	return func(c counters, words []uint32, d digit) {
		k := len(words) &^ (histogramStep - 1)
		steps(c.all, c.apart, words[:k], uint64(d.shift), d.mask, d.ahead)
		countWords(c, words[k:], d)
	}
}
