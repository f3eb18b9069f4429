package main

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const readOnly = attr.RODATA | attr.NOPTR

// Instructions whose names differ between the tiers.

func (g *gen) and(a, b operand.Op, dst reg.Register) {
	if g.wide() {
		g.VPANDQ(a, b, dst)
		return
	}
	g.VPAND(a, b, dst)
}

func (g *gen) or(a, b operand.Op, dst reg.Register) {
	if g.wide() {
		g.VPORQ(a, b, dst)
		return
	}
	g.VPOR(a, b, dst)
}

func (g *gen) xor(a, b operand.Op, dst reg.Register) {
	if g.wide() {
		g.VPXORQ(a, b, dst)
		return
	}
	g.VPXOR(a, b, dst)
}

// andNot is a &^ b.
func (g *gen) andNot(a, b operand.Op, dst reg.Register) {
	if g.wide() {
		g.VPANDNQ(a, b, dst)
		return
	}
	g.VPANDN(a, b, dst)
}

// load and store move a whole vector register, at any address.
func (g *gen) load(from operand.Mem, to reg.Register) {
	if g.wide() {
		g.VMOVDQU64(from, to)
		return
	}
	g.VMOVDQU(from, to)
}

func (g *gen) store(from reg.Register, to operand.Mem) {
	if g.wide() {
		g.VMOVDQU64(from, to)
		return
	}
	g.VMOVDQU(from, to)
}

// zero is a new vector register of zeros.
func (g *gen) zero() reg.VecVirtual {
	v := g.vector()
	g.xor(v, v, v)
	return v
}

// table is a new vector register of which each 16 bytes are v.
func (g *gen) table(name string, v []byte) reg.VecVirtual {
	m := g.StaticGlobal(name)
	g.DataAttributes(readOnly)
	for i, b := range v {
		g.AddDatum(i, operand.U8(b))
	}
	t := g.vector()
	if g.wide() {
		g.VBROADCASTI32X4(m, t)
		return t
	}
	g.VBROADCASTI128(m, t)
	return t
}

// every is a new vector register of which each byte is v.
func (g *gen) every(v uint8) reg.VecVirtual {
	t, word, x := g.vector(), g.GP32(), g.XMM()
	g.MOVL(operand.U32(v), word)
	g.VMOVD(word, x)
	g.VPBROADCASTB(x, t)
	return t
}

// sumQuads is the sum of the 64-bit lanes of v, which is lost.
func (g *gen) sumQuads(v reg.VecVirtual) reg.Register {
	x, upper := g.XMM(), g.XMM()
	if g.wide() {
		half := g.YMM()
		g.VEXTRACTI64X4(operand.U8(1), v, half)
		g.VPADDQ(half, v.AsY(), v.AsY())
	}
	g.VEXTRACTI128(operand.U8(1), v.AsY(), x)
	g.VPADDQ(x, v.AsX(), x)
	g.VPSHUFD(operand.U8(0xee), x, upper)
	g.VPADDQ(upper, x, x)
	sum := g.GP64()
	g.VMOVQ(x, sum)
	return sum
}

// loaded is a new vector register with what lies at from.
func (g *gen) loaded(from operand.Mem) reg.VecVirtual {
	v := g.vector()
	g.load(from, v)
	return v
}

// aheadBytes is how far ahead of what they read loops over a long run ask for
// memory: the next small page, in which the processor's own prefetching, which
// ends with each page, begins anew otherwise. Zen 5 reads 80 MB in small pages in
// 1.30 ms so, and in 1.68 without; in huge pages it makes no difference.
const aheadBytes = 4096

// ahead asks for the line that a loop reads aheadBytes later, into the
// second-level cache. It may lie beyond the slice: a prefetch never faults.
func (g *gen) ahead(p reg.Register, offset int) { g.aheadBy(aheadBytes, p, offset) }

// aheadBy is ahead by another distance.
func (g *gen) aheadBy(bytes int, p reg.Register, offset int) {
	if offset%64 == 0 {
		g.PREFETCHT1(at(p, offset+bytes))
	}
}
