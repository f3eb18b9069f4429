//go:build amd64 && !purego

package cpu

func (l *lineLoops) avx2() { l.u32, l.u64 = lines32AVX2, lines64AVX2 }

func (l *lineLoops) avx512() { l.u32, l.u64 = lines32AVX512, lines64AVX512 }
