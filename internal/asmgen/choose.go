package main

import (
	"strconv"

	"github.com/mmcloughlin/avo/operand"
)

// choose makes the loops that take each value from one of two columns.
func choose(g *gen) {
	for _, size := range []int{1, 2, 4, 8} {
		chooseLoop(g, size)
	}
}

// chooseStep is the rows that a choice takes at a time.
const chooseStep = 64

func chooseLoop(g *gen, size int) {
	name := "uint" + strconv.Itoa(8*size)
	g.function("choose"+strconv.Itoa(8*size), "(dst, p, q []"+name+", mask []byte)", `is
	for i := range dst {
		dst[i] = q[i]
		if mask[i/8]>>(i%8)&1 != 0 {
			dst[i] = p[i]
		}
	}
len(dst) is a multiple of 64; p and q are no shorter.`)
	dst, n := g.base("dst"), g.length("dst")
	p, q, mask := g.base("p"), g.base("q"), g.base("mask")
	sel := g.bitsFor(size)
	g.SHRQ(operand.U8(6), n)
	g.count(n, func() {
		for at0 := 0; at0 < chooseStep*size; at0 += g.bytes {
			v := g.vector()
			g.load(at(q, at0), v)
			switch {
			case !g.wide():
				g.VPBLENDVB(g.laneMask(sel, size, mask, at0/size), g.loaded(at(p, at0)), v, v)
			case size == 8:
				g.VMOVDQU64(at(p, at0), g.laneBits(size, mask, at0/size), v)
			case size == 4:
				g.VMOVDQU32(at(p, at0), g.laneBits(size, mask, at0/size), v)
			case size == 2:
				g.VMOVDQU16(at(p, at0), g.laneBits(size, mask, at0/size), v)
			default:
				g.VMOVDQU8(at(p, at0), g.laneBits(size, mask, at0/size), v)
			}
			g.store(v, at(dst, at0))
		}
		g.advance(chooseStep*size, dst, p, q)
		g.advance(chooseStep/8, mask)
	})
	g.leave()
}
