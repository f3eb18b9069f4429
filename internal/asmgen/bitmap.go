package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bitmap makes the loops over bitmaps: loads are as wide as the tier's
// registers and four of them are under way at a time.
func bitmap(g *gen) {
	logicLoop(g, "and", "dst[i] = a[i] & b[i]", func(a, b operand.Op, dst reg.Register) { g.and(a, b, dst) })
	logicLoop(g, "or", "dst[i] = a[i] | b[i]", func(a, b operand.Op, dst reg.Register) { g.or(a, b, dst) })
	logicLoop(g, "xor", "dst[i] = a[i] ^ b[i]", func(a, b operand.Op, dst reg.Register) { g.xor(a, b, dst) })
	logicLoop(g, "andNot", "dst[i] = b[i] &^ a[i]", func(a, b operand.Op, dst reg.Register) { g.andNot(a, b, dst) })
	countLoop(g)
}

// bitmapStep is the number of bytes that the loops take at a time: what their
// slices' lengths are multiples of.
const bitmapStep = 256

func logicLoop(g *gen, name, line string, op func(a, b operand.Op, dst reg.Register)) {
	g.function(name, "(dst, a, b []byte)", `is
	for i := range dst {
		`+line+`
	}
len(dst) is a multiple of 256; a and b are no shorter.`)
	dst, n := g.base("dst"), g.length("dst")
	a, b := g.base("a"), g.base("b")
	g.SHRQ(operand.U8(8), n)
	g.count(n, func() {
		for at0 := 0; at0 < bitmapStep; at0 += 4 * g.bytes {
			var v [4]reg.VecVirtual
			for k := range v {
				v[k] = g.vector()
				g.load(at(a, at0+k*g.bytes), v[k])
			}
			for k := range v {
				op(at(b, at0+k*g.bytes), v[k], v[k])
			}
			for k := range v {
				g.store(v[k], at(dst, at0+k*g.bytes))
			}
		}
		g.advance(bitmapStep, dst, a, b)
	})
	g.leave()
}

// countLoop counts bits by a table of the sixteen half bytes, as in W. Muła,
// N. Kurz, D. Lemire, "Faster Population Counts Using AVX2 Instructions" (2016),
// without its carry-save adders: a bitmap comes from memory.
func countLoop(g *gen) {
	g.function("count", "(b []byte) int", `is
	n := 0
	for _, v := range b {
		n += bits.OnesCount8(v)
	}
len(b) is a multiple of 256.`)
	p, n := g.base("b"), g.length("b")
	table := g.table("halfByteBits", []byte{0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4})
	low := g.every(0x0f)
	zero, sums := g.zero(), g.zero()
	g.SHRQ(operand.U8(8), n)
	g.count(n, func() {
		bytes := g.zero() // of no more than 8 * 8 each
		for at0 := 0; at0 < bitmapStep; at0 += g.bytes {
			v, high := g.vector(), g.vector()
			g.load(at(p, at0), v)
			g.VPSRLQ(operand.U8(4), v, high)
			g.and(low, v, v)
			g.and(low, high, high)
			g.VPSHUFB(v, table, v)
			g.VPSHUFB(high, table, high)
			g.VPADDB(v, bytes, bytes)
			g.VPADDB(high, bytes, bytes)
		}
		g.VPSADBW(zero, bytes, bytes)
		g.VPADDQ(bytes, sums, sums)
		g.advance(bitmapStep, p)
	})
	sum := g.sumQuads(sums)
	g.Store(sum, g.ReturnIndex(0))
	g.leave()
}
