//go:build amd64 && !purego

package cpu

import (
	"unsafe"

	"github.com/volley-go/volley/kernels"
)

func scanAVX2(l *scanLoops[float64]) {
	wholeScans(l, 4, totalsAVX2, alongAVX2, alongPastAVX2)
}

// scanAVX512 leaves along to AVX2: eight lines that are read and eight that are
// written lie 32 KiB apart, and do not fit the twelve ways of Zen 5's first-level
// cache together (27 µs a morsel, 18 by four). Those stored past it do not count.
func scanAVX512(l *scanLoops[float64]) {
	four := l.along
	wholeScans(l, 8, totalsAVX512, alongAVX512, alongPastAVX512)
	l.along = four
}

// wholeScans has assembly take as many blocks at a time as there are lanes, and Go
// the blocks that are left.
func wholeScans(l *scanLoops[float64], lanes int, totals func(totals, v, ahead []float64), along func(dst, v, before []float64),
	past func(dst, v, before, ahead []float64)) {
	l.totals = func(t, v, ahead []float64) {
		n := len(t) &^ (lanes - 1)
		totals(t[:n], v, ahead)
		sumTotals(t[n:], v[n*kernels.ScanBlock:])
	}
	split := func(dst, v, before []float64, steps func(dst, v, before []float64)) {
		n := len(before) &^ (lanes - 1)
		steps(dst, v, before[:n])
		sumsAlong(dst[n*kernels.ScanBlock:], v[n*kernels.ScanBlock:], before[n:])
	}
	l.along = func(dst, v, before []float64) { split(dst, v, before, along) }
	l.alongPast = func(dst, v, before, ahead []float64) {
		if uintptr(unsafe.Pointer(unsafe.SliceData(dst)))&63 != 0 { // these stores are of whole lines
			l.along(dst, v, before)
			return
		}
		split(dst, v, before, func(dst, v, before []float64) { past(dst, v, before, ahead) })
	}
}
