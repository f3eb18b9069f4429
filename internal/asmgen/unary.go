package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// unary makes the operations on one number: of floats all that processors have
// instructions for, of signed integers those that may overflow.
func unary(g *gen) {
	for _, e := range reals2 {
		for _, op := range floatOperations {
			unaryFloat(g, e, op)
		}
	}
	for _, e := range elements[:4] {
		unarySigned(g, e, "negate", "-a[i]")
		unarySigned(g, e, "absolute", "max(a[i], -a[i])")
	}
}

type floatOperation struct {
	name, value string
	constants   []float64
	apply       func(g *gen, e element, v, dst reg.VecVirtual, c []reg.VecVirtual)
}

var minusZero = math.Copysign(0, -1)

var floatOperations = []floatOperation{
	{"negate", "-a[i]", []float64{minusZero}, func(g *gen, _ element, v, dst reg.VecVirtual, c []reg.VecVirtual) { g.xor(c[0], v, dst) }},
	{"absolute", "math.Abs(a[i])", []float64{minusZero}, func(g *gen, _ element, v, dst reg.VecVirtual, c []reg.VecVirtual) { g.andNot(v, c[0], dst) }},
	{"sign", "a[i] > 0 ? 1 : a[i] < 0 ? -1 : a[i]", []float64{0, 1, -1}, signLanes},
	{"sqrt", "math.Sqrt(a[i])", nil, func(g *gen, e element, v, dst reg.VecVirtual, _ []reg.VecVirtual) {
		if e.size == 4 {
			g.VSQRTPS(v, dst)
			return
		}
		g.VSQRTPD(v, dst)
	}},
	{"floor", "math.Floor(a[i])", nil, func(g *gen, e element, v, dst reg.VecVirtual, _ []reg.VecVirtual) { g.toWhole(e, 9, v, dst) }},
	{"ceil", "math.Ceil(a[i])", nil, func(g *gen, e element, v, dst reg.VecVirtual, _ []reg.VecVirtual) { g.toWhole(e, 10, v, dst) }},
	{"trunc", "math.Trunc(a[i])", nil, func(g *gen, e element, v, dst reg.VecVirtual, _ []reg.VecVirtual) { g.toWhole(e, 11, v, dst) }},
	{"round", "math.Round(a[i])", []float64{minusZero, 1, 0.5}, roundLanes},
}

// toWhole rounds as the immediate of ROUNDPD says, which for RNDSCALEPD means
// the same.
func (g *gen) toWhole(e element, how uint8, v, dst reg.VecVirtual) {
	switch {
	case g.wide() && e.size == 4:
		g.VRNDSCALEPS(operand.U8(how), v, dst)
	case g.wide():
		g.VRNDSCALEPD(operand.U8(how), v, dst)
	case e.size == 4:
		g.VROUNDPS(operand.U8(how), v, dst)
	default:
		g.VROUNDPD(operand.U8(how), v, dst)
	}
}

// where makes dst yes in the lanes where a stands to b as the immediate of
// CMPPD says, and leaves the others.
func (g *gen) where(e element, how uint8, a, b, yes, dst reg.VecVirtual) {
	if g.wide() {
		k := g.K()
		if e.size == 4 {
			g.VCMPPS(operand.U8(how), b, a, k)
			g.VMOVDQU32(yes, k, dst)
			return
		}
		g.VCMPPD(operand.U8(how), b, a, k)
		g.VMOVDQU64(yes, k, dst)
		return
	}
	m := g.vector()
	if e.size == 4 {
		g.VCMPPS(operand.U8(how), b, a, m)
	} else {
		g.VCMPPD(operand.U8(how), b, a, m)
	}
	g.VPBLENDVB(m, yes, dst, dst)
}

func signLanes(g *gen, e element, v, dst reg.VecVirtual, c []reg.VecVirtual) {
	if g.wide() {
		g.VMOVDQA64(v, dst)
	} else {
		g.VMOVDQA(v, dst)
	}
	g.where(e, 0x1e, v, c[0], c[1], dst) // greater
	g.where(e, 0x11, v, c[0], c[2], dst) // less
}

// roundLanes adds to the truncated value one with the value's sign where the
// rest, which is exact, is a half at least.
func roundLanes(g *gen, e element, v, dst reg.VecVirtual, c []reg.VecVirtual) {
	sign, one, half := c[0], c[1], c[2]
	rest, add := g.vector(), g.zero()
	g.toWhole(e, 11, v, dst)
	subtractLanes(g, e, dst, v, rest)
	g.andNot(rest, sign, rest)
	g.where(e, 0x1d, rest, half, one, add) // greater or equal
	g.and(v, sign, rest)
	g.or(rest, add, add)
	addLanes(g, e, add, dst, dst)
}

func unaryFloat(g *gen, e element, op floatOperation) {
	g.function(op.name+e.suffix, "(dst, a []"+e.name+")", `is
	for i := range dst {
		dst[i] = `+op.value+`
	}
len(dst) is a multiple of 256 bytes; a is no shorter.`)
	dst, n, a := g.base("dst"), g.length("dst"), g.base("a")
	var c []reg.VecVirtual
	for _, v := range op.constants {
		bits := math.Float64bits(v)
		if e.size == 4 {
			single := uint64(math.Float32bits(float32(v)))
			bits = single | single<<32
		}
		c = append(c, g.everyQuad(bits))
	}
	g.SHRQ(operand.U8(stepShift(e)), n)
	g.count(n, func() {
		for at0 := 0; at0 < arithmeticStep; at0 += g.bytes {
			r := g.vector()
			op.apply(g, e, g.loaded(at(a, at0)), r, c)
			g.store(r, at(dst, at0))
		}
		g.advance(arithmeticStep, dst, a)
	})
	g.leave()
}

// unarySigned has the least integer from the sign that its negation shares with
// it and no other value does.
func unarySigned(g *gen, e element, name, value string) {
	g.function(name+e.suffix, "(dst, a []"+e.name+") bool", `is
	var least `+e.name+`
	for i := range dst {
		dst[i] = `+value+`
		least |= a[i] & -a[i]
	}
	return least < 0
len(dst) is a multiple of 256 bytes; a is no shorter.`)
	dst, n, a := g.base("dst"), g.length("dst"), g.base("a")
	zero, over := g.zero(), g.zero()
	g.SHRQ(operand.U8(stepShift(e)), n)
	g.count(n, func() {
		for at0 := 0; at0 < arithmeticStep; at0 += g.bytes {
			v, r, both := g.loaded(at(a, at0)), g.vector(), g.vector()
			subtractLanes(g, e, v, zero, r)
			g.and(v, r, both)
			g.or(both, over, over)
			switch {
			case name == "negate":
			case e.size == 8 && !g.wide():
				g.VBLENDVPD(v, r, v, r)
			default:
				map[int]func(...operand.Op){1: g.VPMAXSB, 2: g.VPMAXSW, 4: g.VPMAXSD, 8: g.VPMAXSQ}[e.size](v, r, r)
			}
			g.store(r, at(dst, at0))
		}
		g.advance(arithmeticStep, dst, a)
	})
	g.Store(g.anySign(e, over), g.ReturnIndex(0))
	g.leave()
}
