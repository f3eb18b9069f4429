//go:build amd64 && !purego

package cpu

func (l *askLoops) avx2() { l.words = askAVX2 }

func (l *askLoops) avx512() { l.words = askAVX512 }
