//go:build amd64 && !purego

package cpu

import "unsafe"

// axpyStep is the rows that the assembly of axpy takes at a time.
const axpyStep = 4

// matrixAssembly is the assembly of the family for an element type and a tier,
// which works on whole steps only.
type matrixAssembly[T float] struct {
	tile       func(t *byte)
	interleave func(to []T, width int, from []T, line, lines, depth int)
	spread     func(to []T, apart int, from []T, chunk, vectors, chunks int)
	axpy       func(y, a []T, line int, x []T)
	dots       func(sums, from []T, line, lines int, x []T)
}

func (l *loops) matrixAVX2() {
	l.matrix32 = matrixAssembly[float32]{tileFloat32AVX2, interleaveFloat32AVX2, spreadFloat32AVX2, axpyFloat32AVX2, dotsFloat32AVX2}.loops(8)
	l.matrix64 = matrixAssembly[float64]{tileFloat64AVX2, interleaveFloat64AVX2, spreadFloat64AVX2, axpyFloat64AVX2, dotsFloat64AVX2}.loops(4)
	l.matrix32.height, l.matrix64.height = 6, 6
}

func (l *loops) matrixAVX512() {
	l.matrix32 = matrixAssembly[float32]{tileFloat32AVX512, interleaveFloat32AVX512, spreadFloat32AVX512, axpyFloat32AVX512, dotsFloat32AVX512}.loops(16)
	l.matrix64 = matrixAssembly[float64]{tileFloat64AVX512, interleaveFloat64AVX512, spreadFloat64AVX512, axpyFloat64AVX512, dotsFloat64AVX512}.loops(8)
	l.matrix32.height, l.matrix64.height = 12, 12
	l.matrix32.ragged, l.matrix64.ragged = true, true
}

// loops has the assembly take the whole steps, of vectors of n elements, and
// the loops in Go what is left.
func (a matrixAssembly[T]) loops(n int) matrixLoops[T] {
	return matrixLoops[T]{
		vector: n,
		tile:   func(t *tile[T]) { a.tile((*byte)(unsafe.Pointer(t))) },
		interleave: func(to []T, width int, from []T, line, lines, depth int) {
			if depth < n {
				interleaveLoop(to, width, from, line, lines, depth)
				return
			}
			a.interleave(to, width, from, line, lines, depth&^(n-1))
			if last := depth - n; depth&(n-1) != 0 { // the last square again, from where it is whole
				a.interleave(to[last*width:], width, from[last:], line, lines, n)
			}
		},
		spread: func(to []T, apart int, from []T, chunk, vectors, chunks int) {
			most := vectors * n
			whole := 0
			if len(from) >= most {
				whole = min(chunks, (len(from)-most)/chunk+1)
			}
			a.spread(to, apart, from, chunk, vectors, whole)
			if whole < chunks {
				spreadLoop(to[whole*apart:], apart, from[whole*chunk:], chunk, most, chunks-whole)
			}
		},
		axpy: func(y, m []T, line int, x []T) {
			rows, wide := len(x)&^(axpyStep-1), len(y)&^(2*n-1)
			if rows > 0 && wide > 0 {
				a.axpy(y[:wide], m, line, x[:rows])
			}
			if wide < len(y) && rows > 0 {
				axpyLoop(y[wide:], m[wide:], line, x[:rows])
			}
			if rows < len(x) {
				axpyLoop(y, m[rows*line:], line, x[rows:])
			}
		},
		dots: func(sums, from []T, line, lines int, x []T) {
			k := len(x) &^ (n - 1)
			a.dots(sums, from, line, lines, x[:k])
			if k < len(x) {
				dotsLoop(sums, from[k:], line, lines, x[k:])
			}
		},
	}
}
