//go:build amd64 && !purego

package cpu

import (
	"github.com/klauspost/cpuid/v2"
	"golang.org/x/sys/cpu"
)

// feature is something that a processor, and the system for its registers,
// has or has not got.
type feature struct {
	name string
	has  bool
}

// tiersAbove are the tiers above generic, the least first, with what the
// processor lacks for each. This is the only place that looks at its features.
// avx512 asks for what the first server processors with it had (Skylake-X, 2017)
// and no more, so that it means the same loops everywhere.
func tiersAbove() []tier {
	x := cpu.X86
	return []tier{
		{name: "avx2", apply: (*loops).avx2, missing: lacks(
			feature{"AVX2", x.HasAVX2}, feature{"FMA", x.HasFMA}, feature{"BMI1", x.HasBMI1}, feature{"BMI2", x.HasBMI2},
			feature{"POPCNT", x.HasPOPCNT})},
		{name: "avx512", apply: (*loops).avx512, missing: lacks(
			feature{"AVX512F", x.HasAVX512F}, feature{"AVX512BW", x.HasAVX512BW}, feature{"AVX512DQ", x.HasAVX512DQ},
			feature{"AVX512VL", x.HasAVX512VL}, feature{"AVX512CD", x.HasAVX512CD})},
	}
}

// lacks names the features that are not there.
func lacks(all ...feature) []string {
	var names []string
	for _, f := range all {
		if !f.has {
			names = append(names, f.name)
		}
	}
	return names
}

// avx2 overwrites what has loops for AVX2, FMA, BMI1, BMI2 and POPCNT.
func (l *loops) avx2() {
	l.arithmetic.avx2()
	l.ask.avx2()
	l.bitmap.avx2()
	l.choose.avx2()
	l.compare.avx2()
	l.convert.avx2()
	l.decimal.avx2()
	l.filter.avx2()
	l.hash.avx2()
	l.histogram.avx2()
	headsAVX2(&l.heads32, &l.heads64)
	l.lines.avx2()
	if cpuid.CPU.Cache.L2 >= closeCache {
		l.lines.closeFrom, l.lines.cutFrom, l.lines.joinFrom = linesFrom, linesFrom, hashedFrom
	}
	if cpuid.CPU.Cache.L2 >= linesCache {
		l.lines.from, l.lines.joinFrom = linesFrom, linesFrom
	}
	l.network.avx2()
	l.pairs.avx2()
	l.peak.avx2()
	l.place.avx2()
	l.retrace.avx2()
	l.reduce.avx2()
	l.scanAVX2()
	l.sieve.avx2()
	l.take.avx2()
	l.text.avx2()
	l.unary.avx2()
	l.matrixAVX2()
}

// avx512 overwrites what has loops for AVX-512 F, BW, DQ, VL and CD.
func (l *loops) avx512() {
	l.arithmetic.avx512()
	l.ask.avx512()
	l.bitmap.avx512()
	l.choose.avx512()
	l.compare.avx512()
	l.convert.avx512()
	l.decimal.avx512()
	l.filter.avx512()
	l.hash.avx512()
	l.histogram.avx512()
	headsAVX512(&l.heads32, &l.heads64)
	l.lines.avx512()
	l.network.avx512()
	l.pairs.avx512()
	l.peak.avx512()
	l.place.avx512()
	l.retrace.avx512()
	l.reduce.avx512()
	l.scanAVX512()
	l.sieve.avx512()
	l.take.avx512()
	l.text.avx512()
	l.unary.avx512()
	l.matrixAVX512()
}
