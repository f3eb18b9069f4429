package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// What AVX2 has of place.go and sieve.go: four places at a time, of which a mask is
// the first bit of each lane.

// allOnes is a new register of ones: what AVX2's gathers take for a mask, and lose.
func (g *gen) allOnes() reg.VecVirtual {
	v := g.YMM()
	g.VPCMPEQD(v, v, v)
	return v
}

// quadOf is a new register of which each word is the parameter.
func (g *gen) quadOf(param string) reg.VecVirtual {
	v, x := g.YMM(), g.XMM()
	g.VMOVQ(g.Load(g.Param(param), g.GP64()), x)
	g.VPBROADCASTQ(x, v)
	return v
}

// gatherQuads is a new register with the words at places, some bytes after p.
func (g *gen) gatherQuads(p, places reg.Register, offset int) reg.VecVirtual {
	to, all := g.zero(), g.allOnes()
	g.VPGATHERQQ(all, operand.Mem{Base: p, Index: places, Scale: 8, Disp: offset}, to)
	return to
}

// Which halves of two words dwordsOf takes.
const (
	lowHalves  = operand.U8(0x88)
	highHalves = operand.U8(0xdd)
)

// dwordsOf is a new register of 16 bytes with halves of four words.
func (g *gen) dwordsOf(v reg.VecVirtual, halves operand.U8) reg.VecVirtual {
	high, to := g.XMM(), g.XMM()
	g.VEXTRACTI128(operand.U8(1), v, high)
	g.VSHUFPS(halves, high, v.AsX(), to)
	return to
}

// closeQuads makes words that AVX2 compares, which are signed, by turning their first
// bits round.
func closeQuads(g *gen, n, ids, values, places reg.Register) {
	flip, begin, last := g.everyQuad(1<<63), g.quadOf("base"), g.quadOf("span")
	g.VPXOR(flip, last, last)
	g.count(n, func() {
		for i := range 2 {
			v, out := g.loaded(at(values, 32*i)), g.YMM()
			g.VPSUBQ(begin, v, v)
			g.VPXOR(flip, v, out)
			g.VPCMPGTQ(last, out, out)
			in, id := g.dwordsOf(out, highHalves), g.XMM()
			g.VPCMPEQD(id, id, id)
			g.VPXOR(id, in, in)
			g.VPXOR(id, id, id)
			g.VPGATHERQD(in, operand.Mem{Base: places, Index: v, Scale: 4}, id)
			g.VMOVDQU(id, at(ids, 16*i))
		}
		g.advance(64, values)
		g.advance(32, ids)
	})
	g.leave()
}

// packing is 16 bytes for each mask of four lanes that bring those of its bits to the
// front, for VPSHUFB.
func (g *gen) packing() reg.Register {
	m, p := g.StaticGlobal("packing"), g.GP64()
	g.DataAttributes(readOnly)
	for mask := range 16 {
		to := 16 * mask
		for lane := range 4 {
			for b := 0; b < 4 && mask>>lane&1 != 0; b++ {
				g.AddDatum(to, operand.U8(4*lane+b))
				to++
			}
		}
		for ; to < 16*mask+16; to++ {
			g.AddDatum(to, operand.U8(0x80))
		}
	}
	g.LEAQ(m, p)
	return p
}

// seekQuads compares tags in the upper halves of words alone: blends and masks look at
// the first bit of a word.
func seekQuads(g *gen, n reg.Register, s seekTo, back, cut reg.Register) {
	region, stride, packing := g.quadOf("region"), g.quadOf("stride"), g.packing()
	row, four := g.XMM(), g.XMM()
	g.VMOVDQU(g.constants(4, 0, 1, 2, 3), row)
	g.VMOVDQU(g.constants(4, 4, 4, 4, 4), four)
	g.count(n, func() {
		for q := range 2 {
			h, part := g.loaded(at(s.hashes, 32*q)), g.YMM()
			g.VPSRLQ(back, h, part)
			g.VPMULUDQ(stride, part, part)
			i := g.YMM()
			g.VPSLLQ(cut, h, i)
			g.VPSRLQ(operand.U8(32), i, i)
			g.VPMULUDQ(region, i, i)
			g.VPSRLQ(operand.U8(32), i, i)
			g.VPADDQ(part, i, i)
			first, second, e := g.gatherQuads(s.slots, i, 0), g.gatherQuads(s.slots, i, 8), g.gatherQuads(s.slots, i, 16)
			tag, is, one := g.loaded(at(s.marks, 32*q)), g.YMM(), g.allOnes()
			g.VMOVDQU(g.dwordsOf(tag, lowHalves), at(s.tags, 16*q))
			g.VPSLLQ(operand.U8(32), tag, tag)
			next, place := g.YMM(), g.YMM()
			g.VPSUBQ(one, i, next)
			g.VPSUBQ(one, next, place)
			g.VPCMPEQD(tag, second, is)
			g.VBLENDVPD(is, second, e, e)
			g.VBLENDVPD(is, next, place, place)
			g.VPCMPEQD(tag, first, is)
			g.VBLENDVPD(is, first, e, e)
			g.VBLENDVPD(is, i, place, place)
			g.VMOVDQU(place, at(s.places, 32*q))
			zero := g.zero()
			g.VPCMPEQQ(zero, first, is)
			g.VPANDN(e, is, e)
			g.VMOVDQU(g.dwordsOf(e, lowHalves), at(s.ids, 16*q))
			g.VPCMPEQQ(zero, e, zero)
			g.VPCMPEQD(tag, e, is)
			g.VPOR(zero, is, is)
			bits, short := g.GP32(), g.XMM()
			g.VMOVMSKPD(is, bits)
			g.XORL(operand.U8(15), bits)
			g.SHLL(operand.U8(4), bits)
			g.VPSHUFB(operand.Mem{Base: packing, Index: bits.As64(), Scale: 1}, row, short)
			g.VMOVDQU(short, at(s.rest, 0))
			g.POPCNTL(bits, bits)
			g.LEAQ(operand.Mem{Base: s.rest, Index: bits.As64(), Scale: 4}, s.rest)
			g.VPADDD(four, row, row)
		}
		g.advance(64, s.hashes, s.marks, s.places)
		g.advance(32, s.ids, s.tags)
	})
}

// lookQuads is what lookLoop does.
func lookQuads(g *gen, n, heads, records, slots reg.Register) {
	mask, free, shift := g.quadOf("mask"), g.quadOf("free"), g.XMM()
	g.VMOVQ(g.Load(g.Param("shift"), g.GP64()), shift)
	g.count(n, func() {
		for q := range 2 {
			w, i := g.loaded(at(records, 64*q)), g.YMM()
			g.VPUNPCKLQDQ(at(records, 64*q+32), w, w)
			g.VPERMQ(operand.U8(0xd8), w, w)
			g.VPANDN(w, free, w)
			g.VPSRLQ(shift, w, i)
			place, double, one := g.YMM(), g.YMM(), g.allOnes()
			places := func() {
				g.VPAND(mask, i, place)
				g.VPADDQ(place, place, double)
				g.VPADDQ(double, place, place)
			}
			places()
			found, differ := g.gatherQuads(slots, place, 0), g.YMM()
			g.VPCMPEQQ(found, w, differ)
			g.VPXOR(one, differ, differ)
			g.VPSUBQ(differ, i, i)
			places()
			g.VMOVDQA(w, found) // what is not read again does not differ
			g.VPGATHERQQ(differ, operand.Mem{Base: slots, Index: place, Scale: 8}, found)
			g.VPCMPEQQ(found, w, differ)
			g.VPXOR(one, differ, differ)
			g.VPSUBQ(differ, i, i)
			g.VMOVDQU(g.dwordsOf(i, lowHalves), at(heads, 16*q))
		}
		g.advance(128, records)
		g.advance(32, heads)
	})
	g.leave()
}
