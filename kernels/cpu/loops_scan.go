package cpu

import (
	"unsafe"

	"github.com/volley-go/volley/kernels"
)

// scanLoops are running sums of whole blocks of kernels.ScanBlock values, in whose
// order floats are added: totals are what each block comes to, along writes the
// sums so far, from before[k] on in block k, and alongPast does so past the
// caches. Memory is the limit: 8 bytes read and 8 written a row, of which the
// second reading comes from the second-level cache. While totals and alongPast go
// over blocks each may ask for half as much memory, from ahead on, as it reads.
type scanLoops[T float] struct {
	totals    func(totals []float64, v, ahead []T)
	along     func(dst, v []T, before []float64)
	alongPast func(dst, v []T, before []float64, ahead []T)
}

func goScanLoops[T float]() scanLoops[T] {
	return scanLoops[T]{
		totals:    func(totals []float64, v, _ []T) { sumTotals(totals, v) },
		along:     sumsAlong[T],
		alongPast: func(dst, v []T, before []float64, _ []T) { sumsAlong(dst, v, before) },
	}
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
// before on, and alongPast does so past the caches. dst may be v. While total and
// alongPast go over values each may ask for half as much memory, from ahead on.
type runLoops[T integer] struct {
	total     func(v, ahead []T) T
	along     func(dst, v []T, before T)
	alongPast func(dst, v []T, before T, ahead []T)
}

func goRunLoops[T integer]() runLoops[T] {
	return runLoops[T]{
		total:     func(v, _ []T) T { return totalOf(v) },
		along:     runAlong[T],
		alongPast: func(dst, v []T, before T, _ []T) { runAlong(dst, v, before) },
	}
}

// goRunsBy are the loops of a type that has only one for its total.
func goRunsBy[T integer](sum func(v []T) uint64) runLoops[T] {
	l := goRunLoops[T]()
	l.total = func(v, _ []T) T { return T(sum(v)) }
	return l
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
