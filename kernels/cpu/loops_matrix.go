package cpu

import (
	"math"

	"github.com/volley-go/volley/internal/fma"
)

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
// steps, and what its sums, times alpha, are added to; and then, in a run, other
// such pieces, each of which is some elements further. Memory that is wanted soon
// may be asked for meanwhile: askStep elements further with each step of depth,
// from ask on; it may run past the end. Assembly knows where its fields are.
type tile[T float] struct {
	a, b, from, to     []T
	rowA, stepA, stepB int
	rowFrom, rowTo     int
	rows, cols, depth  int
	alpha              T
	ask                []T
	askStep            int
	keep               []T // where b is laid as well, cols apart and tile after tile; only tiles of all columns; nil for nowhere

	tiles                          int // of a run, left at 0
	nextA, nextB, nextFrom, nextTo int
	_                              [6]int // the assembly's
}

// The tile of the loops in Go: as many sums as compilers keep in registers.
const (
	goHeight = 2
	goVector = 2
)

func goMatrixLoops[T float](whole func(*tile[T])) matrixLoops[T] {
	return matrixLoops[T]{
		vector: goVector, height: goHeight, ragged: true,
		tile: func(t *tile[T]) {
			x := *t
			for {
				x.kept()
				if x.rows == goHeight && x.cols == 2*goVector {
					whole(&x)
				} else {
					tileLoop(&x)
				}
				if t.tiles--; t.tiles == 0 {
					break
				}
				x.a, x.b, x.from, x.to = x.a[x.nextA:], x.b[x.nextB:], x.from[x.nextFrom:], x.to[x.nextTo:]
			}
		},
		interleave: interleaveLoop[T],
		spread: func(to []T, apart int, from []T, chunk, vectors, chunks int) {
			spreadLoop(to, apart, from, chunk, vectors*goVector, chunks)
		},
		axpy: axpyLoop[T], dots: dotsLoop[T],
	}
}

// kept lays b where it is to be kept, and goes on to where that of the next tile is.
func (t *tile[T]) kept() {
	if t.keep == nil {
		return
	}
	for k := range t.depth {
		copy(t.keep[k*t.cols:][:t.cols], t.b[k*t.stepB:])
	}
	t.keep = t.keep[t.depth*t.cols:]
}

func tileLoop[T float](t *tile[T]) {
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

// wholeTile64 is tileLoop of a whole tile, its sums in registers.
func wholeTile64(t *tile[float64]) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float64
	atA, atB := 0, 0
	for range t.depth {
		x0, x1, y := t.a[atA], t.a[atA+t.rowA], t.b[atB:][:4:4]
		s00, s10 = math.FMA(x0, y[0], s00), math.FMA(x1, y[0], s10)
		s01, s11 = math.FMA(x0, y[1], s01), math.FMA(x1, y[1], s11)
		s02, s12 = math.FMA(x0, y[2], s02), math.FMA(x1, y[2], s12)
		s03, s13 = math.FMA(x0, y[3], s03), math.FMA(x1, y[3], s13)
		atA, atB = atA+t.stepA, atB+t.stepB
	}
	t.add([goHeight][2 * goVector]float64{{s00, s01, s02, s03}, {s10, s11, s12, s13}})
}

// wholeTile32 is the same for float32, in float64: see fma.Float32. The sums of
// a step are looked at together, since hardly any needs more.
func wholeTile32(t *tile[float32]) {
	var s [goHeight * 2 * goVector]float32
	atA, atB := 0, 0
	for range t.depth {
		x0, x1, y := float64(t.a[atA]), float64(t.a[atA+t.rowA]), t.b[atB:][:4:4]
		y0, y1, y2, y3 := float64(y[0]), float64(y[1]), float64(y[2]), float64(y[3])
		v0, v1, v2, v3 := x0*y0+float64(s[0]), x0*y1+float64(s[1]), x0*y2+float64(s[2]), x0*y3+float64(s[3])
		v4, v5, v6, v7 := x1*y0+float64(s[4]), x1*y1+float64(s[5]), x1*y2+float64(s[6]), x1*y3+float64(s[7])
		if fma.Tie(v0) || fma.Tie(v1) || fma.Tie(v2) || fma.Tie(v3) || fma.Tie(v4) || fma.Tie(v5) || fma.Tie(v6) || fma.Tie(v7) {
			for j := range y {
				s[j], s[4+j] = fma.Float32(float32(x0), y[j], s[j]), fma.Float32(float32(x1), y[j], s[4+j])
			}
		} else {
			s = [8]float32{float32(v0), float32(v1), float32(v2), float32(v3), float32(v4), float32(v5), float32(v6), float32(v7)}
		}
		atA, atB = atA+t.stepA, atB+t.stepB
	}
	t.add([goHeight][2 * goVector]float32{[4]float32(s[:4]), [4]float32(s[4:])})
}

// add adds alpha times the sums of a whole tile.
func (t *tile[T]) add(sums [goHeight][2 * goVector]T) {
	for r := range sums {
		from, to := t.from[r*t.rowFrom:][:2*goVector], t.to[r*t.rowTo:][:2*goVector]
		for j, sum := range sums[r] {
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
