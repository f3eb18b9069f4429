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
	g.function("total"+e.suffix, fmt.Sprintf("(v []%[1]s) %[1]s", e.name), fmt.Sprintf(`is
	total := %[1]s(0)
	for _, x := range v {
		total += x
	}
	return total
len(v) is a multiple of %[2]d.`, e.name, wrappedStep*g.lanes(e)))
	v, n := g.base("v"), g.length("v")
	g.SHRQ(operand.U8(shiftOf(wrappedStep*g.lanes(e))), n)
	total := g.wrappedSums()
	g.count(n, func() { g.addWrapped(e, v, total) })
	g.storeTotal(e, total)
	g.leave()
}

// wrappedSums are sums of nothing.
func (g *gen) wrappedSums() []reg.VecVirtual {
	sums := make([]reg.VecVirtual, wrappedStep)
	for i := range sums {
		sums[i] = g.zero()
	}
	return sums
}

// addWrapped adds a step of values to sums; v is then behind it.
func (g *gen) addWrapped(e element, v reg.Register, sums []reg.VecVirtual) {
	for i, sum := range sums {
		g.plus(e, at(v, i*g.bytes), sum, sum)
	}
	g.advance(wrappedStep*g.bytes, v)
}

// storeTotal makes sums the result of the function.
func (g *gen) storeTotal(e element, sums []reg.VecVirtual) {
	for _, sum := range sums[1:] {
		g.plus(e, sum, sums[0], sums[0])
	}
	if e.size == 8 {
		g.Store(g.sumQuads(sums[0]), g.ReturnIndex(0))
		return
	}
	upper := g.vector() // lanes of 64 bits, whose lower halves count
	g.VPSRLQ(operand.U8(32), sums[0], upper)
	g.plus(e, upper, sums[0], sums[0])
	g.Store(g.sumQuads(sums[0]).(reg.GPVirtual).As32(), g.ReturnIndex(0))
}

func wrappedAlong(g *gen, e element, past bool) {
	name, rule := "along", ""
	if past {
		name, rule = "alongPast", pastRule
	}
	g.function(name+e.suffix, fmt.Sprintf("(dst, v []%[1]s, before %[1]s, next []%[1]s) %[1]s", e.name), fmt.Sprintf(`is
	for i, x := range v {
		before += x
		dst[i] = before
	}
	return total%[3]s(next)
len(v), which is that of next, is a multiple of %[1]d%[2]s.`, wrappedStep*g.lanes(e), rule, e.suffix+g.suffix))
	dst, v, n, next := g.base("dst"), g.base("v"), g.length("v"), g.base("next")
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
	zero, sums := g.zero(), g.wrappedSums()
	g.SHRQ(operand.U8(shiftOf(wrappedStep*g.lanes(e))), n)
	g.count(n, func() {
		for i := range wrappedStep {
			values, total := g.running(e, g.loaded(at(v, i*g.bytes)), zero)
			g.plus(e, before, values, values)
			if past {
				g.VMOVNTDQ(values, at(dst, i*g.bytes))
			} else {
				g.store(values, at(dst, i*g.bytes))
			}
			g.plus(e, total, before, before)
		}
		for i := 0; i < wrappedStep*g.bytes; i += 64 { // beside two other streams the prefetcher looks too short a way ahead
			g.PREFETCHT0(at(next, 4096+i))
		}
		g.addWrapped(e, next, sums)
		g.advance(wrappedStep*g.bytes, v, dst)
	})
	if past {
		g.SFENCE()
	}
	g.storeTotal(e, sums)
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
