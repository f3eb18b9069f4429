package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// AVX2 has no conversions between float64 and int64: it makes them of those of 32 bits
// and of floats whose lowest bits are a number, 2^52 and 2^84 and more.

// halves are the constants of these conversions.
var halves = map[string][]uint64{
	"convertInt64Float64": {math.Float64bits(1 << 52), math.Float64bits(1<<84 + 1<<63), math.Float64bits(1<<84 + 1<<63 + 1<<52)},
	"convertFloat64Int64": {math.Float64bits(1 << 63), 1<<63 - 1, math.Float64bits(-(1 << 63)),
		math.Float64bits(1.0 / (1 << 32)), math.Float64bits(1 << 32), math.Float64bits(1 << 52)},
}

// halvesToFloat64 adds the upper half times 2^32, less 2^52, to the lower half and 2^52,
// both of which are exact, so that it rounds once; what the sum lacks is what was
// rounded, exactly.
func halvesToFloat64(g *gen, from, to operand.Mem, bad misfits, c []reg.VecVirtual) {
	const evenDwords = 0x55 // the lower half of each word
	low, high, f := g.vector(), g.loaded(from), g.vector()
	g.VPBLENDD(operand.U8(evenDwords), high, c[0], low)
	g.VPSRLQ(operand.U8(32), high, high)
	g.VPXOR(c[1], high, high)
	g.VSUBPD(c[2], high, high)
	g.VADDPD(low, high, f)
	g.store(f, to)
	part, rest, zero := g.vector(), g.vector(), g.zero()
	g.VSUBPD(high, f, part) // what the sum has of low
	g.VSUBPD(part, f, rest) // and of high
	g.VSUBPD(part, low, low)
	g.VSUBPD(rest, high, high)
	g.VADDPD(low, high, high)
	g.differ(high, zero, bad)
}

// float64ToHalves converts the whole part, no less than the least, by the floor of a
// 2^32th of it and what is left.
func float64ToHalves(g *gen, from, to operand.Mem, bad misfits, c []reg.VecVirtual) {
	const ordered, greaterEqual, down, toZero = 7, 0x1d, 9, 11
	v, x, above, high := g.loaded(from), g.vector(), g.vector(), g.vector()
	g.VCMPPD(operand.U8(ordered), v, v, x)
	g.VPAND(v, x, x)
	g.VCMPPD(operand.U8(greaterEqual), c[0], x, above)
	g.VROUNDPD(operand.U8(toZero), x, x)
	g.VMAXPD(c[2], x, x)
	g.differ(x, v, bad)
	g.VPOR(above, bad.lanes, bad.lanes)
	g.VMULPD(c[3], x, high)
	g.VROUNDPD(operand.U8(down), high, high)
	whole := g.XMM()
	g.VCVTTPD2DQY(high, whole)
	g.VFNMADD231PD(c[4], high, x)
	g.VADDPD(c[5], x, x)
	g.VPXOR(c[5], x, x)
	g.VPMOVSXDQ(whole, high)
	g.VPSLLQ(operand.U8(32), high, high)
	g.VPOR(x, high, high)
	g.VBLENDVPD(above, c[1], high, high)
	g.store(high, to)
}
