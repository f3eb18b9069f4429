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

func (l *loops) scanAVX512() {
	wholeScans(&l.scan32, 8, totalsFloat32AVX512, alongFloat32AVX512, alongPastFloat32AVX512)
	wholeScans(&l.scan64, 8, totalsFloat64AVX512, alongFloat64AVX512, alongPastFloat64AVX512)
	wholeRuns(&l.runU32, 64, totalUint32AVX512, alongUint32AVX512, alongPastUint32AVX512)
	wholeRuns(&l.runU64, 32, totalUint64AVX512, alongUint64AVX512, alongPastUint64AVX512)
}

// wholeScans has assembly take as many blocks at a time as there are lanes, and Go
// the blocks that are left.
func wholeScans[T float](l *scanLoops[T], lanes int, totals func(totals []float64, v []T), along, past func(dst, v []T, before, totals []float64, next []T)) {
	l.totals = func(t []float64, v []T) {
		n := len(t) &^ (lanes - 1)
		totals(t[:n], v)
		sumTotals(t[n:], v[n*kernels.ScanBlock:])
	}
	split := func(steps func(dst, v []T, before, totals []float64, next []T), dst, v []T, before, totals []float64, next []T) {
		n := len(before) &^ (lanes - 1)
		done := 0 // blocks of next
		if len(totals) >= n {
			steps(dst, v, before[:n], totals[:n], next)
			done = n
		} else {
			var unused [8]float64
			for k := 0; k < n; k += lanes {
				from := v[k*kernels.ScanBlock:]
				steps(dst[k*kernels.ScanBlock:], from, before[k:k+lanes], unused[:lanes], from)
			}
		}
		sumsAlong(dst[n*kernels.ScanBlock:], v[n*kernels.ScanBlock:], before[n:])
		l.totals(totals[done:], next[done*kernels.ScanBlock:])
	}
	l.along = func(dst, v []T, before, totals []float64, next []T) { split(along, dst, v, before, totals, next) }
	l.alongPast = func(dst, v []T, before, totals []float64, next []T) {
		steps := past
		if !lineAligned(dst) {
			steps = along
		}
		split(steps, dst, v, before, totals, next)
	}
}

// wholeRuns has assembly take whole steps, and Go the rest.
func wholeRuns[T uint32 | uint64](l *runLoops[T], step int, total func(v []T) T, along, past func(dst, v []T, before T, next []T) T) {
	l.total = func(v []T) T {
		n := len(v) &^ (step - 1)
		return total(v[:n]) + totalOf(v[n:])
	}
	split := func(steps func(dst, v []T, before T, next []T) T, dst, v []T, before T, next []T) T {
		n := len(v) &^ (step - 1)
		var sum T
		if len(next) >= n {
			sum = steps(dst, v[:n], before, next[:n])
			next = next[n:]
		} else {
			steps(dst, v[:n], before, v[:n])
		}
		if n > 0 {
			before = dst[n-1]
		}
		runAlong(dst[n:], v[n:], before)
		return sum + l.total(next)
	}
	l.along = func(dst, v []T, before T, next []T) T { return split(along, dst, v, before, next) }
	l.alongPast = func(dst, v []T, before T, next []T) T {
		if !lineAligned(dst) {
			return split(along, dst, v, before, next)
		}
		return split(past, dst, v, before, next)
	}
}

// lineAligned reports whether v begins with a line of the cache, as those loops
// need that store whole lines past it.
func lineAligned[T any](v []T) bool { return uintptr(unsafe.Pointer(unsafe.SliceData(v)))&63 == 0 }
