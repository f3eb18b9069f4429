//go:build amd64 && !purego

package cpu

func (l *peakLoops) avx2()   { *l = peakLoops{multiplyAddsAVX2, 12 * 4} }
func (l *peakLoops) avx512() { *l = peakLoops{multiplyAddsAVX512, 12 * 8} }
