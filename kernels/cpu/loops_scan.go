package cpu

import (
	"unsafe"

	"github.com/volley-go/volley/kernels"
)

// scanLoops are running sums of whole blocks of kernels.ScanBlock values, in whose
// order floats are added: totals are what each block comes to, along writes the
// sums so far, from before[k] on in block k, and alongPast does so past the
// caches. Both add up as many blocks of next for totals meanwhile, or other many
// after that. Memory is the limit: 8 bytes read and 8 written a row, of which the
// second reading comes from the second-level cache, and a loop that reads one part
// from memory while it writes another keeps both ways busy, as a copy does.
type scanLoops[T float] struct {
	totals    func(totals []float64, v []T)
	along     func(dst, v []T, before, totals []float64, next []T)
	alongPast func(dst, v []T, before, totals []float64, next []T)
}

func goScanLoops[T float]() scanLoops[T] {
	return scanLoops[T]{totals: sumTotals[T], along: sumsAlongNext[T], alongPast: sumsAlongNext[T]}
}

// scansOf are the loops for a type.
func scansOf[T float](l *loops) *scanLoops[T] {
	var t T
	if unsafe.Sizeof(t) == 4 {
		return any(&l.scan32).(*scanLoops[T])
	}
	return any(&l.scan64).(*scanLoops[T])
}

// sumTotals goes through four blocks side by side: within one every sum waits for
// the one before.
func sumTotals[T float](totals []float64, v []T) {
	const n = kernels.ScanBlock
	for ; len(totals) >= 4; totals, v = totals[4:], v[4*n:] {
		a, b, c, d := fourBlocks(v)
		var t0, t1, t2, t3 float64
		for i := range a {
			t0 += float64(a[i])
			t1 += float64(b[i])
			t2 += float64(c[i])
			t3 += float64(d[i])
		}
		totals[0], totals[1], totals[2], totals[3] = t0, t1, t2, t3
	}
	for k := range totals {
		totals[k] = totalFloats(v[k*n:(k+1)*n], 0, true)
	}
}

func sumsAlongNext[T float](dst, v []T, before, totals []float64, next []T) {
	sumsAlong(dst, v, before)
	sumTotals(totals, next)
}

func sumsAlong[T float](dst, v []T, before []float64) {
	const n = kernels.ScanBlock
	for ; len(before) >= 4; dst, v, before = dst[4*n:], v[4*n:], before[4:] {
		a, b, c, d := fourBlocks(v)
		w, x, y, z := fourBlocks(dst)
		b0, b1, b2, b3 := before[0], before[1], before[2], before[3]
		var t0, t1, t2, t3 float64
		for i := range a {
			t0 += float64(a[i])
			t1 += float64(b[i])
			t2 += float64(c[i])
			t3 += float64(d[i])
			w[i], x[i], y[i], z[i] = T(b0+t0), T(b1+t1), T(b2+t2), T(b3+t3)
		}
	}
	for k, total := range before {
		runFloats(dst[k*n:(k+1)*n], v[k*n:(k+1)*n], total, true, false)
	}
}

// fourBlocks are the values of four blocks side by side.
func fourBlocks[T float](v []T) (a, b, c, d *[kernels.ScanBlock]T) {
	const n = kernels.ScanBlock
	return (*[n]T)(v), (*[n]T)(v[n:]), (*[n]T)(v[2*n:]), (*[n]T)(v[3*n:])
}

// runLoops are running sums of integers that wrap, in rows, of which memory is the
// limit as well: total is what values come to, along writes the sums so far, from
// before on, and alongPast does so past the caches. Both give the total of next,
// which they add up meanwhile. dst may be v.
type runLoops[T integer] struct {
	total     func(v []T) T
	along     func(dst, v []T, before T, next []T) T
	alongPast func(dst, v []T, before T, next []T) T
}

func goRunLoops[T integer]() runLoops[T] { return goRunsBy(totalOf[T]) }

// goRunsBy are the loops of a type that has only one for its total.
func goRunsBy[T integer](total func(v []T) T) runLoops[T] {
	along := func(dst, v []T, before T, next []T) T {
		runAlong(dst, v, before)
		return total(next)
	}
	return runLoops[T]{total: total, along: along, alongPast: along}
}

func totalOf[T integer](v []T) T {
	var total T
	for _, x := range v {
		total += x
	}
	return total
}

func runAlong[T integer](dst, v []T, before T) {
	dst = dst[:len(v)]
	for i, x := range v {
		before += x
		dst[i] = before
	}
}
