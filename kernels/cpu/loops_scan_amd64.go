//go:build amd64 && !purego

package cpu

import (
	"unsafe"

	"github.com/volley-go/volley/kernels"
)

func (l *loops) scanAVX2() {
	wholeScans(&l.scan32, 4, totalsFloat32AVX2, alongFloat32AVX2, alongPastFloat32AVX2)
	wholeScans(&l.scan64, 4, totalsFloat64AVX2, alongFloat64AVX2, alongPastFloat64AVX2)
	wholeRuns(&l.runU32, 32, totalUint32AVX2, alongUint32AVX2, alongPastUint32AVX2)
	wholeRuns(&l.runU64, 16, totalUint64AVX2, alongUint64AVX2, alongPastUint64AVX2)
}

// scanAVX512 leaves along of floats to AVX2: eight lines that are read and eight that are
// written lie 32 KiB apart, and do not fit the twelve ways of Zen 5's first-level
// cache together (27 µs a morsel, 18 by four). Those stored past it do not count.
func (l *loops) scanAVX512() {
	wholeScans(&l.scan32, 8, totalsFloat32AVX512, nil, alongPastFloat32AVX512)
	wholeScans(&l.scan64, 8, totalsFloat64AVX512, nil, alongPastFloat64AVX512)
	wholeRuns(&l.runU32, 64, totalUint32AVX512, alongUint32AVX512, alongPastUint32AVX512)
	wholeRuns(&l.runU64, 32, totalUint64AVX512, alongUint64AVX512, alongPastUint64AVX512)
}

// wholeScans has assembly take as many blocks at a time as there are lanes, and Go
// the blocks that are left. Without along there stays the one that was.
func wholeScans[T float](l *scanLoops[T], lanes int, totals func(totals []float64, v, ahead []T), along func(dst, v []T, before []float64),
	past func(dst, v []T, before []float64, ahead []T)) {
	l.totals = func(t []float64, v, ahead []T) {
		n := len(t) &^ (lanes - 1)
		totals(t[:n], v, ahead)
		sumTotals(t[n:], v[n*kernels.ScanBlock:])
	}
	split := func(dst, v []T, before []float64, steps func(dst, v []T, before []float64)) {
		n := len(before) &^ (lanes - 1)
		steps(dst, v, before[:n])
		sumsAlong(dst[n*kernels.ScanBlock:], v[n*kernels.ScanBlock:], before[n:])
	}
	if along != nil {
		l.along = func(dst, v []T, before []float64) { split(dst, v, before, along) }
	}
	l.alongPast = func(dst, v []T, before []float64, ahead []T) {
		if !lineAligned(dst) {
			l.along(dst, v, before)
			return
		}
		split(dst, v, before, func(dst, v []T, before []float64) { past(dst, v, before, ahead) })
	}
}

// wholeRuns has assembly take whole steps, and Go the rest.
func wholeRuns[T uint32 | uint64](l *runLoops[T], step int, total func(v, ahead []T) T, along func(dst, v []T, before T),
	past func(dst, v []T, before T, ahead []T)) {
	l.total = func(v, ahead []T) T {
		n := len(v) &^ (step - 1)
		return total(v[:n], ahead) + totalOf(v[n:])
	}
	split := func(dst, v []T, before T, steps func(dst, v []T)) {
		n := len(v) &^ (step - 1)
		if steps(dst, v[:n]); n > 0 {
			before = dst[n-1]
		}
		runAlong(dst[n:], v[n:], before)
	}
	l.along = func(dst, v []T, before T) { split(dst, v, before, func(dst, v []T) { along(dst, v, before) }) }
	l.alongPast = func(dst, v []T, before T, ahead []T) {
		if !lineAligned(dst) {
			l.along(dst, v, before)
			return
		}
		split(dst, v, before, func(dst, v []T) { past(dst, v, before, ahead) })
	}
}

// lineAligned reports whether v begins with a line of the cache, as those loops
// need that store whole lines past it.
func lineAligned[T any](v []T) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(v)))&63 == 0 }
