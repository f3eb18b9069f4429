//go:build amd64 && !purego

package cpu

func (l *pairLoops) avx2() { l.mark = pairsAVX2 }

func (l *pairLoops) avx512() { l.mark = pairsAVX512 }
