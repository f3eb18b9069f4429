package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// axpyLoops makes the loops over rows of a matrix that lie as they are wanted:
// sums of multiples of them, and copies of pieces.
func axpyLoops(g *gen) {
	for _, f := range reals {
		axpy(g, f)
		spread(g, f)
	}
}

// axpyRows is how many rows are added at a time.
const axpyRows = 4

func axpy(g *gen, f real) {
	n := g.lanesOf(f)
	g.function("axpy"+f.name, fmt.Sprintf("(y, a []%[1]s, line int, x []%[1]s)", f.of), fmt.Sprintf(`is
	for i := range x {
		for j := range y {
			y[j] = fma(x[i], a[i*line+j], y[j])
		}
	}
len(y) is a multiple of %d, len(x) of %d.`, 2*n, axpyRows))
	y, a, x := g.base("y"), g.base("a"), g.base("x")
	wide, rows := g.length("y"), g.length("x")
	line := g.scaled(f, g.Load(g.Param("line"), g.GP64()))
	g.SHRQ(operand.U8(2), rows)
	g.SHRQ(operand.U8(shiftOf(2*n)), wide)
	g.count(rows, func() {
		var scale [axpyRows]reg.VecVirtual
		var row [axpyRows]reg.Register
		for i := range scale {
			scale[i], row[i] = g.vector(), g.GP64()
			g.repeat(f, at(x, i*f.bytes), scale[i])
			g.MOVQ(a, row[i])
			g.ADDQ(line, a)
		}
		p, left := g.GP64(), g.GP64()
		g.MOVQ(y, p)
		g.MOVQ(wide, left)
		g.count(left, func() {
			v := [2]reg.VecVirtual{g.vector(), g.vector()}
			for k := range v {
				g.move(f, at(p, k*g.bytes), v[k])
			}
			for i := range scale {
				for k := range v {
					g.fma(f, at(row[i], k*g.bytes), scale[i], v[k])
				}
			}
			for k := range v {
				g.move(f, v[k], at(p, k*g.bytes))
			}
			g.advance(2*g.bytes, p, row[0], row[1], row[2], row[3])
		})
		g.advance(axpyRows*f.bytes, x)
	})
	g.leave()
}

func spread(g *gen, f real) {
	n := g.lanesOf(f)
	g.function("spread"+f.name, fmt.Sprintf("(to []%[1]s, apart int, from []%[1]s, chunk, vectors, chunks int)", f.of), fmt.Sprintf(`is
	for i := range chunks {
		copy(to[i*apart:], from[i*chunk:][:vectors*%d])
	}
vectors is 1 or 2.`, n))
	to, from := g.base("to"), g.base("from")
	apart := g.scaled(f, g.Load(g.Param("apart"), g.GP64()))
	chunk := g.scaled(f, g.Load(g.Param("chunk"), g.GP64()))
	vectors := g.Load(g.Param("vectors"), g.GP64())
	chunks := g.Load(g.Param("chunks"), g.GP64())
	two := g.label("two")
	g.CMPQ(vectors, operand.U8(2))
	g.JEQ(operand.LabelRef(two))
	for vectors := 1; vectors <= 2; vectors++ {
		if vectors == 2 {
			g.Label(two)
		}
		g.count(chunks, func() {
			for k := range vectors {
				v := g.vector()
				g.move(f, at(from, k*g.bytes), v)
				g.move(f, v, at(to, k*g.bytes))
			}
			g.ADDQ(chunk, from)
			g.ADDQ(apart, to)
		})
		g.leave()
	}
}
