package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// wrappedStep is how many registers the loops of running sums of integers take at
// a time.
const wrappedStep = 4

// plus adds lanes of a size.
func (g *gen) plus(e element, a, b operand.Op, dst reg.Register) {
	if e.size == 4 {
		g.VPADDD(a, b, dst)
		return
	}
	g.VPADDQ(a, b, dst)
}

func wrappedTotal(g *gen, e element) {
	g.function("total"+e.suffix, fmt.Sprintf("(v, ahead []%[1]s) %[1]s", e.name), fmt.Sprintf(`is
	total := %[1]s(0)
	for _, x := range v {
		total += x
	}
	return total
and asks for half as much memory from ahead on. len(v) is a multiple of %[2]d.`, e.name, wrappedStep*g.lanes(e)))
	v, n, ahead := g.base("v"), g.length("v"), g.base("ahead")
	g.SHRQ(operand.U8(shiftOf(wrappedStep*g.lanes(e))), n)
	sums := make([]reg.VecVirtual, wrappedStep)
	for i := range sums {
		sums[i] = g.zero()
	}
	g.count(n, func() {
		for i, sum := range sums {
			g.plus(e, at(v, i*g.bytes), sum, sum)
		}
		g.halfAhead(wrappedStep*g.bytes, ahead)
		g.advance(wrappedStep*g.bytes, v)
	})
	for _, sum := range sums[1:] {
		g.plus(e, sum, sums[0], sums[0])
	}
	if e.size == 8 {
		g.Store(g.sumQuads(sums[0]), g.ReturnIndex(0))
	} else {
		upper := g.vector() // lanes of 64 bits, whose lower halves count
		g.VPSRLQ(operand.U8(32), sums[0], upper)
		g.plus(e, upper, sums[0], sums[0])
		g.Store(g.sumQuads(sums[0]).(reg.GPVirtual).As32(), g.ReturnIndex(0))
	}
	g.leave()
}

func wrappedAlong(g *gen, e element, past bool) {
	name, params, rule := "along", "(dst, v []%[1]s, before %[1]s)", ""
	if past {
		name, params, rule = "alongPast", "(dst, v []%[1]s, before %[1]s, ahead []%[1]s)", pastRule
	}
	g.function(name+e.suffix, fmt.Sprintf(params, e.name), fmt.Sprintf(`is
	for i, x := range v {
		before += x
		dst[i] = before
	}
len(v) is a multiple of %d%s.`, wrappedStep*g.lanes(e), rule))
	dst, v, n := g.base("dst"), g.base("v"), g.length("v")
	before := g.vector()
	if e.size == 8 {
		x := g.XMM()
		g.VMOVQ(g.Load(g.Param("before"), g.GP64()), x)
		g.VPBROADCASTQ(x, before)
	} else {
		x := g.XMM()
		g.VMOVD(g.Load(g.Param("before"), g.GP32()), x)
		g.VPBROADCASTD(x, before)
	}
	var ahead reg.Register
	if past {
		ahead = g.base("ahead")
	}
	zero := g.zero()
	g.SHRQ(operand.U8(shiftOf(wrappedStep*g.lanes(e))), n)
	g.count(n, func() {
		for i := range wrappedStep {
			sums, total := g.running(e, g.loaded(at(v, i*g.bytes)), zero)
			g.plus(e, before, sums, sums)
			if past {
				g.VMOVNTDQ(sums, at(dst, i*g.bytes))
			} else {
				g.store(sums, at(dst, i*g.bytes))
			}
			g.plus(e, total, before, before)
		}
		if past {
			g.halfAhead(wrappedStep*g.bytes, ahead)
		}
		g.advance(wrappedStep*g.bytes, v, dst)
	})
	if past {
		g.SFENCE()
	}
	g.leave()
}

// running makes v its running sums, and total what they end with in every lane:
// first within each 16 bytes, then from one of these to those behind. Of the
// registers before only an addition is waited for.
func (g *gen) running(e element, v, zero reg.VecVirtual) (sums, total reg.VecVirtual) {
	shifted := g.vector()
	for bytes := e.size; bytes < 16; bytes *= 2 {
		g.VPSLLDQ(operand.U8(bytes), v, shifted)
		g.plus(e, shifted, v, v)
	}
	total = g.vector()
	g.VPSHUFD(operand.U8(map[int]int{4: 0xff, 8: 0xee}[e.size]), v, total)
	if !g.wide() {
		g.VPERM2I128(operand.U8(0x08), total, total, shifted)
		g.plus(e, shifted, v, v)
		g.plus(e, shifted, total, total)
		g.VPERM2I128(operand.U8(0x11), total, total, total)
		return v, total
	}
	for _, quads := range []int{2, 4} {
		g.VALIGNQ(operand.U8(8-quads), zero, total, shifted)
		g.plus(e, shifted, v, v)
		g.plus(e, shifted, total, total)
	}
	g.VSHUFI64X2(operand.U8(0xff), total, total, total)
	return v, total
}
