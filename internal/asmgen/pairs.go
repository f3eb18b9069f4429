package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// pairs makes the loop that looks for two bytes at a distance, the first and the
// last one of a pattern, at all places of a text at once (W. Muła, SIMD-friendly
// algorithms for substring searching, 2016).
func pairs(g *gen) {
	g.function("pairs", "(dst, text []byte, first, last byte, gap int)", `is
	for i := range 8 * len(dst) {
		put bit i of dst: text[i] == first && text[i+gap] == last
	}
len(dst) is a multiple of 8, and len(text) at least 8*len(dst) + gap.`)
	dst, n := g.base("dst"), g.length("dst")
	text := g.base("text")
	far := g.GP64()
	g.Load(g.Param("gap"), far)
	g.ADDQ(text, far)
	first, last := g.everyByte("first"), g.everyByte("last")
	g.SHRQ(operand.U8(3), n)
	g.count(n, func() {
		if g.wide() {
			v, w := g.loaded(at(text, 0)), g.loaded(at(far, 0))
			k, both, word := g.K(), g.K(), g.GP64()
			g.VPCMPEQB(first, v, k)
			g.VPCMPEQB(last, w, k, both)
			g.KMOVQ(both, word)
			g.MOVQ(word, at(dst, 0))
		} else {
			for half := 0; half < 8; half += 4 {
				v, w, word := g.vector(), g.vector(), g.GP32()
				g.VPCMPEQB(at(text, 8*half), first, v)
				g.VPCMPEQB(at(far, 8*half), last, w)
				g.VPAND(v, w, v)
				g.VPMOVMSKB(v, word)
				g.MOVL(word, at(dst, half))
			}
		}
		g.advance(8, dst)
		g.advance(64, text, far)
	})
	g.leave()
}

// everyByte is a new vector register of which each byte is a parameter.
func (g *gen) everyByte(param string) reg.VecVirtual {
	t, word, x := g.vector(), g.GP32(), g.XMM()
	g.Load(g.Param(param), word)
	g.VMOVD(word, x)
	g.VPBROADCASTB(x, t)
	return t
}
