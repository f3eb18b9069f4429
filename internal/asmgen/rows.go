package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
)

// rowsLoop makes the loop that lays columns by rows, a square of as many as a vector
// register has words at a time.
func rowsLoop(g *gen) {
	f := reals[0]
	n := g.lanesOf(f)
	columns := fmt.Sprintf("columns is %d", n)
	if g.wide() {
		columns = fmt.Sprintf("columns is 1 to %d", n)
	}
	g.function("rows", "(to []uint32, stride int, from []uint32, line, columns, n int)", fmt.Sprintf(`is
	for i := range n {
		for c := range columns {
			to[i*stride+c] = from[c*line+i]
		}
	}
n is a multiple of %d, %s.`, n, columns))
	to, from, rows := g.base("to"), g.base("from"), g.Load(g.Param("n"), g.GP64())
	stride := g.scaled(f, g.Load(g.Param("stride"), g.GP64()))
	line := g.scaled(f, g.Load(g.Param("line"), g.GP64()))
	lines := g.Load(g.Param("columns"), g.GP64())
	there := g.K()
	if g.wide() {
		ones, lacking := g.GP64(), g.GP64()
		g.MOVQ(operand.U32(n), lacking)
		g.SUBQ(lines, lacking)
		g.MOVQ(operand.U32(1<<n-1), ones)
		g.SHRXQ(lacking, ones, ones)
		g.KMOVW(ones.As32(), there)
	}
	g.SHRQ(operand.U8(shiftOf(n)), rows)
	g.count(rows, func() {
		for _, row := range g.square(f, g.rows(f, from, line, lines)) {
			if g.wide() {
				g.VMOVUPS(row, there, at(to, 0))
			} else {
				g.VMOVUPS(row, at(to, 0))
			}
			g.ADDQ(stride, to)
		}
		g.advance(g.bytes, from)
	})
	g.leave()
}
