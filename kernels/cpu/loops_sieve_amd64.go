//go:build amd64 && !purego

package cpu

import "unsafe"

func (l *sieveLoops) avx2() { l.look = lookAVX2 }

func (l *sieveLoops) avx512() {
	l.quick, l.sieve, l.look = true, wholeSieve, lookAVX512
}

// wholeSieve has assembly take whole steps of eight words.
func wholeSieve(to *sieveRows, words, values []uint64, base uint64, skip uint, part uint64) (kept int) {
	clear(to.marks[:])
	k := len(words) &^ 7
	records := unsafe.Slice((*uint64)(unsafe.Pointer(&to.records)), 2*len(to.records))
	marks := unsafe.Slice((*byte)(unsafe.Pointer(&to.marks)), len(to.marks)*8)
	kept = sieveAVX512(records, words[:k], values[:k], marks, base, uint64(64-skip), part)
	return sieveFrom(to, k, kept, words, values, base, skip, part)
}
