package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// comparison is an operator, in the order of kernels.CompareOp.
type comparison struct {
	name, sign string
	imm        uint8 // of VPCMP and, but for floats, VCMPPD
	immFloat   uint8 // ordered and quiet, but for not equal, which holds for NaN
	// How AVX2 has it of integers: of equal or greater, with the operands
	// exchanged, with the result turned round.
	equal, swap, invert bool
}

var comparisons = []comparison{
	{name: "equal", sign: "==", imm: 0, immFloat: 0, equal: true},
	{name: "notEqual", sign: "!=", imm: 4, immFloat: 4, equal: true, invert: true},
	{name: "less", sign: "<", imm: 1, immFloat: 0x11, swap: true},
	{name: "lessEqual", sign: "<=", imm: 2, immFloat: 0x12, invert: true},
	{name: "greater", sign: ">", imm: 6, immFloat: 0x1e},
	{name: "greaterEqual", sign: ">=", imm: 5, immFloat: 0x1d, swap: true, invert: true},
}

// compareStep is the rows that a comparison takes at a time: a word of bits.
const compareStep = 64

// compare makes the comparisons to a bitmap: with one value for all six
// operators, of two columns for the four that are left when operands are
// exchanged.
func compare(g *gen) {
	for _, e := range elements {
		for i, c := range comparisons {
			compareLoop(g, e, c, true)
			if i < 4 {
				compareLoop(g, e, c, false)
			}
		}
	}
}

func compareLoop(g *gen, e element, c comparison, scalar bool) {
	name, param, right := c.name+"Columns", "[]"+e.name, "b[i]"
	if scalar {
		name, param, right = c.name+"Scalar", e.name, "b"
	}
	g.function(name+e.suffix, "(dst []byte, a []"+e.name+", b "+param+")", `is
	for i := range a {
		if a[i] `+c.sign+` `+right+` {
			dst[i/8] |= 1 << (i % 8)
		}
	}
for a dst of zeros, whatever it holds. len(a) is a multiple of 64.`)
	dst, a, n := g.base("dst"), g.base("a"), g.length("a")
	var b reg.Register
	var value, bias reg.VecVirtual
	if e.kind == unsigned && !g.wide() && !c.equal {
		bias = g.signBits(e)
	}
	if scalar {
		value = g.broadcast(e, g.Param("b"))
		if bias != nil {
			g.VPXOR(bias, value, value)
		}
	} else {
		b = g.base("b")
	}
	right512 := func(at0 int) operand.Op {
		if scalar {
			return value
		}
		return at(b, at0)
	}
	g.SHRQ(operand.U8(6), n)
	g.count(n, func() {
		for at0 := 0; scalar && at0 < compareStep*e.size; at0 += g.bytes {
			g.ahead(a, at0)
		}
		if g.wide() {
			for at0 := 0; at0 < compareStep*e.size; at0 += g.bytes {
				v, k := g.vector(), g.K()
				g.load(at(a, at0), v)
				g.compareMask(e, c, v, right512(at0), k)
				g.storeMask(e.size, k, at(dst, at0/e.size/8))
			}
		} else {
			compareBits(g, e, c, dst, func(at0 int) reg.VecVirtual {
				return compareLanes(g, e, c, at(a, at0), right512(at0), bias, scalar)
			})
		}
		g.advance(compareStep*e.size, a)
		if !scalar {
			g.advance(compareStep*e.size, b)
		}
		g.advance(compareStep/8, dst)
	})
	g.leave()
}

// broadcast is a new vector register of which each lane is a parameter.
func (g *gen) broadcast(e element, p component) reg.VecVirtual {
	v := g.vector()
	if e.kind == float {
		x := g.XMM()
		g.Load(p, x)
		if e.size == 4 {
			g.VBROADCASTSS(x, v)
		} else {
			g.VBROADCASTSD(x, v)
		}
		return v
	}
	x := g.XMM()
	if e.size == 8 {
		g.VMOVQ(g.Load(p, g.GP64()), x)
		g.VPBROADCASTQ(x, v)
		return v
	}
	g.VMOVD(g.Load(p, g.GP32()), x)
	switch e.size {
	case 1:
		g.VPBROADCASTB(x, v)
	case 2:
		g.VPBROADCASTW(x, v)
	default:
		g.VPBROADCASTD(x, v)
	}
	return v
}

// signBits is a new register with the upper bit of each lane.
func (g *gen) signBits(e element) reg.VecVirtual {
	bits := uint64(1) << (8*e.size - 1)
	for width := 8 * e.size; width < 64; width *= 2 {
		bits |= bits << width
	}
	return g.everyQuad(bits)
}

// compareMask compares, on the AVX-512 tier, to a mask register.
func (g *gen) compareMask(e element, c comparison, a reg.VecVirtual, b operand.Op, k reg.Register) {
	imm := operand.U8(c.imm)
	switch e.name {
	case "int8":
		g.VPCMPB(imm, b, a, k)
	case "int16":
		g.VPCMPW(imm, b, a, k)
	case "int32":
		g.VPCMPD(imm, b, a, k)
	case "int64":
		g.VPCMPQ(imm, b, a, k)
	case "uint8":
		g.VPCMPUB(imm, b, a, k)
	case "uint16":
		g.VPCMPUW(imm, b, a, k)
	case "uint32":
		g.VPCMPUD(imm, b, a, k)
	case "uint64":
		g.VPCMPUQ(imm, b, a, k)
	case "float32":
		g.VCMPPS(operand.U8(c.immFloat), b, a, k)
	default:
		g.VCMPPD(operand.U8(c.immFloat), b, a, k)
	}
}

// storeMask writes the mask of a wide register of values of a size.
func (g *gen) storeMask(size int, k reg.Register, to operand.Mem) {
	switch size {
	case 8:
		g.KMOVB(k, to)
	case 4:
		g.KMOVW(k, to)
	case 2:
		g.KMOVD(k, to)
	default:
		g.KMOVQ(k, to)
	}
}

// compareLanes is, on the AVX2 tier, a vector register with ones in the lanes
// where the comparison holds, or where it does not and c.invert says so.
func compareLanes(g *gen, e element, c comparison, from operand.Mem, right operand.Op, bias reg.VecVirtual, scalar bool) reg.VecVirtual {
	m := g.vector()
	a := g.vector()
	g.load(from, a)
	if e.kind == float {
		if e.size == 4 {
			g.VCMPPS(operand.U8(c.immFloat), right, a, m)
		} else {
			g.VCMPPD(operand.U8(c.immFloat), right, a, m)
		}
		return m
	}
	if c.equal {
		map[int]func(...operand.Op){1: g.VPCMPEQB, 2: g.VPCMPEQW, 4: g.VPCMPEQD, 8: g.VPCMPEQQ}[e.size](right, a, m)
		return m
	}
	b, ok := right.(reg.VecVirtual)
	if !ok {
		b = g.vector()
		g.load(right.(operand.Mem), b)
		if bias != nil {
			g.VPXOR(bias, b, b)
		}
	}
	if bias != nil {
		g.VPXOR(bias, a, a)
	}
	if c.swap {
		a, b = b, a
	}
	map[int]func(...operand.Op){1: g.VPCMPGTB, 2: g.VPCMPGTW, 4: g.VPCMPGTD, 8: g.VPCMPGTQ}[e.size](b, a, m)
	return m
}

// compareBits writes the bits of 64 rows, lanes of ones from lanes, on the AVX2
// tier.
func compareBits(g *gen, e element, c comparison, dst reg.Register, lanes func(at0 int) reg.VecVirtual) {
	invert := c.invert && e.kind != float
	for row := 0; row < compareStep; {
		bits := g.GP32()
		to := at(dst, row/8)
		switch e.size {
		case 8:
			high := g.GP32()
			g.VMOVMSKPD(lanes(row*8), bits)
			g.VMOVMSKPD(lanes(row*8+32), high)
			g.SHLL(operand.U8(4), high)
			g.ORL(high, bits)
		case 4:
			g.VMOVMSKPS(lanes(row*4), bits)
		case 2:
			m := g.vector()
			low, high := lanes(row*2), lanes(row*2+32)
			g.VPACKSSWB(high, low, m)
			g.VPERMQ(operand.U8(0xd8), m, m)
			g.VPMOVMSKB(m, bits)
		default:
			g.VPMOVMSKB(lanes(row), bits)
		}
		if invert {
			g.NOTL(bits)
		}
		if e.size >= 4 {
			g.MOVB(bits.As8(), to)
			row += 8
		} else {
			g.MOVL(bits, to)
			row += 32
		}
	}
}
