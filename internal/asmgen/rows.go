package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
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
	l := g.rowsBegin(f, n)
	stride := g.scaled(f, g.Load(g.Param("stride"), g.GP64()))
	g.count(l.n, func() {
		for _, row := range g.square(f, g.rows(f, l.from, l.line, l.columns)) {
			l.store(row, at(l.to, 0))
			g.ADDQ(stride, l.to)
		}
		g.advance(g.bytes, l.from)
	})
	g.leave()
}

// placedLoop makes the loop of rowsLoop whose rows go to places that are given.
func placedLoop(g *gen) {
	f := reals[0]
	n := g.lanesOf(f)
	columns := fmt.Sprintf("columns is %d", n)
	if g.wide() {
		columns = fmt.Sprintf("columns is 1 to %d", n)
	}
	g.function("placed", "(to []uint32, stride int, places []uint32, from []uint32, line, columns, n int)", fmt.Sprintf(`is
	for i := range n {
		for c := range columns {
			to[int(places[i])*stride+c] = from[c*line+i]
		}
	}
n is a multiple of %d, %s.`, n, columns))
	l := g.rowsBegin(f, n)
	stride, places, row := g.scaled(f, g.Load(g.Param("stride"), g.GP64())), g.base("places"), g.GP64()
	g.count(l.n, func() {
		for i, values := range g.square(f, g.rows(f, l.from, l.line, l.columns)) {
			g.MOVL(at(places, 4*i), row.As32())
			g.IMULQ(stride, row)
			l.store(values, operand.Mem{Base: l.to, Index: row, Scale: 1})
		}
		g.advance(4*n, places)
		g.advance(g.bytes, l.from)
	})
	g.leave()
}

// rowsArguments are those that both loops have.
type rowsArguments struct {
	*gen
	to, from, n, line, columns reg.Register
	there                      reg.OpmaskVirtual // the columns that there are, of a wide register
}

func (g *gen) rowsBegin(f real, n int) rowsArguments {
	l := rowsArguments{gen: g, to: g.base("to"), from: g.base("from"), n: g.Load(g.Param("n"), g.GP64())}
	l.line = g.scaled(f, g.Load(g.Param("line"), g.GP64()))
	l.columns = g.Load(g.Param("columns"), g.GP64())
	if g.wide() {
		l.there = g.ones(n, l.columns)
	}
	g.SHRQ(operand.U8(shiftOf(n)), l.n)
	return l
}

// ones is a mask of the first of n lanes, so many as a register says.
func (g *gen) ones(n int, of reg.Register) reg.OpmaskVirtual {
	mask, ones, lacking := g.K(), g.GP64(), g.GP64()
	g.MOVQ(operand.U32(n), lacking)
	g.SUBQ(of, lacking)
	g.MOVQ(operand.U32(1<<n-1), ones)
	g.SHRXQ(lacking, ones, ones)
	g.KMOVW(ones.As32(), mask)
	return mask
}

// store stores a row's columns that there are.
func (l *rowsArguments) store(row reg.VecVirtual, to operand.Mem) {
	if l.wide() {
		l.VMOVUPS(row, l.there, to)
	} else {
		l.VMOVUPS(row, to)
	}
}
