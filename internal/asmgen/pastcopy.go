package main

import "github.com/mmcloughlin/avo/operand"

// pastCopy copies lines past the caches. The stores of half registers are as fast as those of whole ones.
func pastCopy(g *gen) {
	if g.wide() {
		return
	}
	g.function("lines", "(dst, src []byte)", `is copy(dst, src) with stores past the caches. len(dst) is a multiple
of 64, and dst aligned to as much. What others do with dst is to come after fence.`)
	dst, n, src := g.base("dst"), g.length("dst"), g.base("src")
	g.SHRQ(operand.U8(6), n)
	g.count(n, func() {
		low, high := g.loaded(at(src, 0)), g.loaded(at(src, 32))
		g.VMOVNTDQ(low, at(dst, 0))
		g.VMOVNTDQ(high, at(dst, 32))
		g.advance(64, dst, src)
	})
	g.leave()
	g.function("fence", "()", `waits until what was stored past the caches is seen by all.`)
	g.SFENCE()
	g.RET()
}
