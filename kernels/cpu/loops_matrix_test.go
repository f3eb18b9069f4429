package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

func TestMatrixLoops(t *testing.T) {
	eachTier(t, func(t *testing.T, want, got *loops, r *rand.Rand, mem *guarded) {
		matrixLoopsTest(t, &want.matrix32, &got.matrix32, r, mem)
		matrixLoopsTest(t, &want.matrix64, &got.matrix64, r, mem)
	})
}

func matrixLoopsTest[T float](t *testing.T, want, got *matrixLoops[T], r *rand.Rand, mem *guarded) {
	tileTest(t, want, got, r, mem)
	turnTest(t, want, got, r, mem)
	axpyTest(t, want, got, r, mem)
	spreadTest(t, want, got, r, mem)
}

// someFloats are n numbers whose sums depend on their order, against unmapped
// memory; now and then one is no number, infinite, or a zero with a sign.
func someFloats[T float](r *rand.Rand, mem *guarded, n int) []T {
	v := room[T](mem, n)
	odd := r.IntN(4) == 0
	for i := range v {
		v[i] = T(r.NormFloat64())
		if odd && r.IntN(16) == 0 {
			v[i] = T([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 1e-40}[r.IntN(6)])
		}
	}
	return v
}

// agree fails the test where two slices differ: in a bit, or where one is NaN.
func agree[T float](t *testing.T, what string, got, want []T) {
	t.Helper()
	for i, v := range got {
		if v != want[i] && (v == v || want[i] == want[i]) || v == 0 && math.Signbit(float64(v)) != math.Signbit(float64(want[i])) {
			t.Fatalf("%s: element %d is %v, not %v", what, i, v, want[i])
		}
	}
}

// tileTest has every height and width of tile, A packed, in rows and in
// columns, B packed and in a matrix, kept and not, C beside other elements, alone
// and in runs.
func tileTest[T float](t *testing.T, want, got *matrixLoops[T], r *rand.Rand, mem *guarded) {
	step := got.vector
	if got.ragged {
		step = 1
	}
	for rows := 1; rows <= got.height; rows++ {
		for width := step; width <= 2*got.vector+step; width += step { // and all columns once more, with B kept
			cols, depth, keeps := min(width, 2*got.vector), 1+r.IntN(90), width > 2*got.vector
			if keeps { // what is kept of three tiles fits a page
				depth = 1 + r.IntN(40)
			}
			x := &tile[T]{rows: rows, cols: cols, depth: depth, alpha: T([]float64{1, -0.5, 0.1}[r.IntN(3)])}
			if x.rowA, x.stepA = depth+r.IntN(3), 1; r.IntN(2) == 0 {
				x.rowA, x.stepA = 1, rows+r.IntN(5)
			}
			x.stepB, x.rowTo = cols+r.IntN(4), cols+r.IntN(4)
			if r.IntN(2) == 0 { // as packA and packB lay them
				x.rowA, x.stepA, x.stepB = 1, got.height, 2*got.vector
			}
			more := r.IntN(3)
			x.tiles, x.nextA, x.nextB, x.nextTo = 1+more, r.IntN(40), r.IntN(40), rows*x.rowTo
			mem.again()
			x.to = room[T](mem, (rows*(1+more)-1)*x.rowTo+cols)
			if keeps {
				x.keep = room[T](mem, (1+more)*depth*cols)
			}
			x.a = someFloats[T](r, mem, more*x.nextA+(rows-1)*x.rowA+(depth-1)*x.stepA+1)
			x.b = someFloats[T](r, mem, more*x.nextB+(depth-1)*x.stepB+cols)
			switch r.IntN(3) {
			case 0: // in place
				copy(x.to, someFloats[T](r, mem, len(x.to)))
				x.from, x.rowFrom, x.nextFrom = x.to, x.rowTo, x.nextTo
			case 1: // one row for all
				x.from = someFloats[T](r, mem, cols)
			default:
				x.rowFrom = cols + 1
				x.nextFrom = rows*x.rowFrom - r.IntN(2)
				x.from = someFloats[T](r, mem, more*x.nextFrom+(rows-1)*x.rowFrom+cols)
			}
			if r.IntN(2) == 0 {
				x.ask, x.askStep = x.b[r.IntN(len(x.b)):], r.IntN(9)
			}
			what := fmt.Sprintf("%d tiles of %d x %d x %d in %T", x.tiles, rows, cols, depth, x.alpha)
			y := *x
			y.to = append([]T(nil), x.to...)
			if x.rowFrom == x.rowTo && &x.from[0] == &x.to[0] {
				y.from = y.to
			}
			if keeps {
				y.keep = make([]T, len(x.keep))
			}
			want.tile(&y)
			got.tile(x)
			agree(t, what, x.to, y.to)
			mem.intact(what, len(rawBytes(x.to)), 0)
			if keeps {
				agree(t, what+", B kept", x.keep, y.keep)
				mem.intact(what, len(rawBytes(x.keep)), 1)
			}
		}
	}
}

func turnTest[T float](t *testing.T, want, got *matrixLoops[T], r *rand.Rand, mem *guarded) {
	for lines := 1; lines <= got.vector; lines++ {
		for depth := range 2*got.vector + 3 {
			width, line := lines+r.IntN(got.vector+5), depth+r.IntN(5) // vectors may overlap
			mem.again()
			n := max(0, (depth-1)*width+got.vector)
			to, from := room[T](mem, n), someFloats[T](r, mem, max((lines-1)*line+depth, 0))
			expect := make([]T, n)
			what := fmt.Sprintf("interleave of %d lines of %d", lines, depth)
			want.interleave(expect, width, from, line, lines, depth)
			got.interleave(to, width, from, line, lines, depth)
			for k := range depth {
				agree(t, what, to[k*width:][:lines], expect[k*width:][:lines])
			}
			mem.intact(what, len(rawBytes(to)), 0)

			sums, x := someFloats[T](r, mem, got.vector), someFloats[T](r, mem, depth)
			expect = append([]T(nil), sums...)
			what = fmt.Sprintf("dots of %d lines of %d", lines, depth)
			want.dots(expect, from, line, lines, x)
			got.dots(sums, from, line, lines, x)
			agree(t, what, sums[:lines], expect[:lines])
			mem.intact(what, len(rawBytes(sums)), 2)
		}
	}
}

func axpyTest[T float](t *testing.T, want, got *matrixLoops[T], r *rand.Rand, mem *guarded) {
	for n := range 5*got.vector + 2 {
		rows := r.IntN(14)
		line := n + r.IntN(3)
		mem.again()
		y, a, x := someFloats[T](r, mem, n), someFloats[T](r, mem, max((rows-1)*line+n, 0)), someFloats[T](r, mem, rows)
		expect := append([]T(nil), y...)
		want.axpy(expect, a, line, x)
		got.axpy(y, a, line, x)
		what := fmt.Sprintf("axpy of %d rows of %d", rows, n)
		agree(t, what, y, expect)
		mem.intact(what, len(rawBytes(y)), 0)
	}
}

func spreadTest[T float](t *testing.T, _, got *matrixLoops[T], r *rand.Rand, mem *guarded) {
	for chunks := range 12 {
		for chunk := 1; chunk <= 2*got.vector; chunk++ {
			vectors := ceil(chunk, got.vector)
			apart, step := chunk+r.IntN(got.vector+4), chunk+r.IntN(3)*got.vector // vectors may overlap
			mem.again()
			to := room[T](mem, max(0, (chunks-1)*apart+vectors*got.vector))
			from := someFloats[T](r, mem, max(0, (chunks-1)*step+chunk))
			got.spread(to, apart, from, step, vectors, chunks)
			what := fmt.Sprintf("spread of %d chunks of %d", chunks, chunk)
			for i := range chunks {
				agree(t, what, to[i*apart:][:chunk], from[i*step:][:chunk])
			}
			mem.intact(what, len(rawBytes(to)), 0)
		}
	}
}

func BenchmarkMatrixTile(b *testing.B) {
	names, all := available()
	for i, l := range all {
		b.Run("tier="+names[i]+"/type=f32", func(b *testing.B) { benchTile(b, &l.matrix32) })
		b.Run("tier="+names[i]+"/type=f64", func(b *testing.B) { benchTile(b, &l.matrix64) })
	}
}

func benchTile[T float](b *testing.B, l *matrixLoops[T]) {
	w := 2 * l.vector
	t := &tile[T]{rows: l.height, cols: w, depth: depthBlock, rowA: 1, stepA: roundUp(l.height, l.vector), stepB: w, rowFrom: w, rowTo: w, alpha: 1}
	t.a, t.b, t.to = make([]T, t.stepA*t.depth), make([]T, w*t.depth), make([]T, w*t.rows)
	t.from = t.to
	for i := range t.a {
		t.a[i] = T(rand.NormFloat64())
	}
	for i := range t.b {
		t.b[i] = T(rand.NormFloat64())
	}
	for b.Loop() {
		t.tiles = 1
		l.tile(t)
	}
	b.ReportMetric(2*float64(t.rows*t.cols*t.depth*b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
