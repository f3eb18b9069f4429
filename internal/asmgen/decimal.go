package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// decimals makes the loops between decimals of 128 bits and integers of 64.
func decimals(g *gen) {
	narrowLoop(g)
	widenLoop(g)
}

// decimalStep is the values that they take at a time.
const decimalStep = 32

// narrowLoop spreads the sign of the low word of each value over both its words: what
// is left of the low one after that is the magnitude, and of the high one nothing
// where the value fits.
func narrowLoop(g *gen) {
	g.function("narrowDecimals", "(dst []int64, src [][2]uint64) (magnitude, wide uint64)", `is
	for i, v := range src {
		sign := uint64(int64(v[0]) >> 63)
		dst[i] = int64(v[0])
		magnitude |= v[0] ^ sign
		wide |= v[1] ^ sign
	}
len(src) is a multiple of 32; dst is no shorter.`)
	dst, src, n := g.base("dst"), g.base("src"), g.length("src")
	all := g.zero()
	var low reg.VecVirtual
	if g.wide() {
		low = g.quads(0, 2, 4, 6, 8, 10, 12, 14)
	}
	lanes := g.bytes / 8
	g.SHRQ(operand.U8(5), n)
	g.count(n, func() {
		for i := 0; i < decimalStep; i += lanes {
			g.ahead(src, 16*i)
			g.ahead(src, 16*i+64)
			v, next := g.loaded(at(src, 16*i)), g.loaded(at(src, 16*i+g.bytes))
			for _, x := range []reg.VecVirtual{v, next} {
				sign := g.vector()
				g.VPSHUFD(operand.U8(0x55), x, sign) // the upper half of the low word
				g.VPSRAD(operand.U8(31), sign, sign)
				g.xor(x, sign, sign)
				g.or(sign, all, all)
			}
			if g.wide() {
				g.VPERMT2Q(next, low, v)
			} else {
				g.VPUNPCKLQDQ(next, v, v)
				g.VPERMQ(operand.U8(0xd8), v, v)
			}
			g.store(v, at(dst, 8*i))
		}
		g.advance(16*decimalStep, src)
		g.advance(8*decimalStep, dst)
	})
	half := g.XMM()
	if g.wide() {
		upper := g.YMM()
		g.VEXTRACTI64X4(operand.U8(1), all, upper)
		g.VPOR(upper, all.AsY(), all.AsY())
	}
	g.VEXTRACTI128(operand.U8(1), all.AsY(), half)
	g.VPOR(half, all.AsX(), half)
	magnitude, wide := g.GP64(), g.GP64()
	g.VMOVQ(half, magnitude)
	g.VPEXTRQ(operand.U8(1), half, wide)
	g.Store(magnitude, g.Return("magnitude"))
	g.Store(wide, g.Return("wide"))
	g.leave()
}

func widenLoop(g *gen) {
	g.function("widenDecimals", "(dst [][2]uint64, src []int64)", `is
	for i, v := range src {
		dst[i] = [2]uint64{uint64(v), uint64(v >> 63)}
	}
len(src) is a multiple of 32; dst is no shorter.`)
	dst, src, n := g.base("dst"), g.base("src"), g.length("src")
	var low, high, zero reg.VecVirtual
	if g.wide() {
		low, high = g.quads(0, 8, 1, 9, 2, 10, 3, 11), g.quads(4, 12, 5, 13, 6, 14, 7, 15)
	} else {
		zero = g.zero()
	}
	lanes := g.bytes / 8
	g.SHRQ(operand.U8(5), n)
	g.count(n, func() {
		for i := 0; i < decimalStep; i += lanes {
			sign := g.vector()
			if g.wide() {
				v, next := g.loaded(at(src, 8*i)), g.vector()
				g.VPSRAQ(operand.U8(63), v, sign)
				g.VMOVDQA64(v, next)
				g.VPERMT2Q(sign, low, v)
				g.VPERMT2Q(sign, high, next)
				g.store(v, at(dst, 16*i))
				g.store(next, at(dst, 16*i+g.bytes))
				continue
			}
			v, next := g.vector(), g.vector()
			g.VPERMQ(operand.U8(0xd8), at(src, 8*i), v)
			g.VPCMPGTQ(v, zero, sign)
			g.VPUNPCKHQDQ(sign, v, next)
			g.VPUNPCKLQDQ(sign, v, v)
			g.store(v, at(dst, 16*i))
			g.store(next, at(dst, 16*i+g.bytes))
		}
		g.advance(8*decimalStep, src)
		g.advance(16*decimalStep, dst)
	})
	g.leave()
}
