package cpu

import "github.com/volley-go/volley/internal/fma"

type float interface{ float32 | float64 }

// matrixLoops are the loops of products of matrices and of transposes. A vector
// is so many elements as the assembly of the tier takes at a time; where a loop
// says so it may leave anything in the rest of the last vector that it writes
// to. Products and sums are rounded once, everywhere.
type matrixLoops[T float] struct {
	vector int
	height int  // rows of a tile at most; it is two vectors wide at most
	ragged bool // a tile's columns are any number, not only whole vectors

	tile func(t *tile[T])
	// interleave has to[k*width+r] = from[r*line+k] for r < lines, at most a
	// vector, and k < depth. Whole vectors of to are written, k by k.
	interleave func(to []T, width int, from []T, line, lines, depth int)
	// spread copies chunks of vectors (1 or 2) vectors: to[i*apart+j] =
	// from[i*chunk+j]. What there is not of from is not read, nor written.
	spread func(to []T, apart int, from []T, chunk, vectors, chunks int)
	// axpy adds rows of a matrix, row i times x[i], to y, in rising i.
	axpy func(y, a []T, line int, x []T)
	// dots adds the products of x and a row to sums[r], r < lines, in rising k;
	// sums is one vector, all of which is written.
	dots func(sums, from []T, line, lines int, x []T)
}

// tile is a piece of a product of matrices: A by rows and steps of depth, B by
// steps, and what its sums, times alpha, are added to. Assembly knows where its
// fields are.
type tile[T float] struct {
	a, b, from, to     []T
	rowA, stepA, stepB int
	rowFrom, rowTo     int
	rows, cols, depth  int
	alpha              T
}

// The tile of the loops in Go: as many sums as compilers keep in registers.
const (
	goHeight = 2
	goVector = 2
)

func goMatrixLoops[T float]() matrixLoops[T] {
	return matrixLoops[T]{
		vector: goVector, height: goHeight, ragged: true,
		tile: tileLoop[T], interleave: interleaveLoop[T], spread: func(to []T, apart int, from []T, chunk, vectors, chunks int) {
			spreadLoop(to, apart, from, chunk, vectors*goVector, chunks)
		}, axpy: axpyLoop[T], dots: dotsLoop[T],
	}
}

func tileLoop[T float](t *tile[T]) {
	if t.rows == goHeight && t.cols == 2*goVector {
		wholeTile(t)
		return
	}
	for r := range t.rows {
		for j := range t.cols {
			var sum T
			for k := range t.depth {
				sum = fma.Of(t.a[r*t.rowA+k*t.stepA], t.b[k*t.stepB+j], sum)
			}
			t.to[r*t.rowTo+j] = fma.Of(t.alpha, sum, t.from[r*t.rowFrom+j])
		}
	}
}

// wholeTile is tileLoop of a whole tile, its sums in registers.
func wholeTile[T float](t *tile[T]) {
	var s00, s01, s02, s03, s10, s11, s12, s13 T
	atA, atB := 0, 0
	for range t.depth {
		x0, x1, y := t.a[atA], t.a[atA+t.rowA], t.b[atB:][:4:4]
		s00, s10 = fma.Of(x0, y[0], s00), fma.Of(x1, y[0], s10)
		s01, s11 = fma.Of(x0, y[1], s01), fma.Of(x1, y[1], s11)
		s02, s12 = fma.Of(x0, y[2], s02), fma.Of(x1, y[2], s12)
		s03, s13 = fma.Of(x0, y[3], s03), fma.Of(x1, y[3], s13)
		atA, atB = atA+t.stepA, atB+t.stepB
	}
	for r, sums := range [goHeight][2 * goVector]T{{s00, s01, s02, s03}, {s10, s11, s12, s13}} {
		from, to := t.from[r*t.rowFrom:][:len(sums)], t.to[r*t.rowTo:][:len(sums)]
		for j, sum := range sums {
			to[j] = fma.Of(t.alpha, sum, from[j])
		}
	}
}

func interleaveLoop[T float](to []T, width int, from []T, line, lines, depth int) {
	for r := range lines {
		for k, v := range from[r*line:][:depth] {
			to[k*width+r] = v
		}
	}
}

func spreadLoop[T float](to []T, apart int, from []T, chunk, n, chunks int) {
	for i := range chunks {
		copy(to[i*apart:], from[i*chunk:min(i*chunk+n, len(from))])
	}
}

func axpyLoop[T float](y, a []T, line int, x []T) {
	for i, v := range x {
		for j, w := range a[i*line:][:len(y)] {
			y[j] = fma.Of(v, w, y[j])
		}
	}
}

func dotsLoop[T float](sums, from []T, line, lines int, x []T) {
	for r := range lines {
		row, sum := from[r*line:][:len(x)], sums[r]
		for k, v := range x {
			sum = fma.Of(row[k], v, sum)
		}
		sums[r] = sum
	}
}
