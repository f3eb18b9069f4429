package main

import "github.com/mmcloughlin/avo/operand"

// ask makes the loop that asks for memory and does nothing else.
func ask(g *gen) {
	g.function("ask", "(a, b []uint64, ahead int)", `asks for the lines of two slices, ahead bytes after where they are: len(a) is
a multiple of 8, b no shorter. They may lie beyond the slices: a prefetch never faults.`)
	a, n, b, ahead := g.base("a"), g.length("a"), g.base("b"), g.Load(g.Param("ahead"), g.GP64())
	g.SHRQ(operand.U8(3), n)
	g.count(n, func() {
		g.PREFETCHT0(operand.Mem{Base: a, Index: ahead, Scale: 1})
		g.PREFETCHT0(operand.Mem{Base: b, Index: ahead, Scale: 1})
		g.advance(64, a, b)
	})
	g.RET()
}
