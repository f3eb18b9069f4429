package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rankLoop makes the loop that looks for keys by ranks. The bits before that of a key
// are counted by a table of the sixteen half bytes, since not every processor of the
// wide tier has an instruction for it.
func rankLoop(g *gen) {
	g.function("rank", "(ids []uint32, values []uint64, base, limit uint64, entries []uint64)", `is
	for j, v := range values {
		w := min(v-base, limit)
		e, bit := entries[w/32], uint64(1)<<(w%32)
		ids[j] = 0
		if e&bit != 0 {
			ids[j] = uint32(e>>32) + uint32(bits.OnesCount64(e&(bit-1))) + 1
		}
	}
len(values) is a multiple of 8.`)
	ids, values, n, entries := g.base("ids"), g.base("values"), g.length("values"), g.base("entries")
	r := &rankRoom{entries: entries, one: g.everyQuad(1), last: g.everyQuad(31), low: g.every(0x0f),
		table: g.table("rankHalves", []byte{0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4})}
	g.SHRQ(operand.U8(3), n)
	if g.wide() {
		rankWords(g, r, n, ids, values)
	} else {
		rankQuads(g, r, n, ids, values)
	}
	g.leave()
}

// rankRoom is what stays in registers.
type rankRoom struct {
	entries               reg.Register
	one, last, low, table reg.VecVirtual
}

// before is how many bits of e are set below the one bit of each word of bit, and 1.
func (r *rankRoom) before(g *gen, e, bit reg.VecVirtual) reg.VecVirtual {
	v, high := g.vector(), g.vector()
	g.VPSUBQ(r.one, bit, v)
	g.and(e, v, v)
	g.VPSRLQ(operand.U8(4), v, high)
	g.and(r.low, v, v)
	g.and(r.low, high, high)
	g.VPSHUFB(v, r.table, v)
	g.VPSHUFB(high, r.table, high)
	g.VPADDB(high, v, v)
	g.VPSADBW(g.zero(), v, v)
	g.VPSRLQ(operand.U8(32), e, high)
	g.VPADDQ(high, v, v)
	g.VPADDQ(r.one, v, v)
	return v
}

func rankWords(g *gen, r *rankRoom, n, ids, values reg.Register) {
	base, limit := g.ZMM(), g.ZMM()
	g.VPBROADCASTQ(g.Load(g.Param("base"), g.GP64()), base)
	g.VPBROADCASTQ(g.Load(g.Param("limit"), g.GP64()), limit)
	all, is := g.K(), g.K()
	g.count(n, func() {
		w, i, bit, e := g.ZMM(), g.ZMM(), g.ZMM(), g.zero()
		g.VMOVDQU64(at(values, 0), w)
		g.VPSUBQ(base, w, w)
		g.VPMINUQ(limit, w, w)
		g.VPSRLQ(operand.U8(5), w, i)
		g.KXNORB(all, all, all)
		g.VPGATHERQQ(operand.Mem{Base: r.entries, Index: i, Scale: 8}, all, e)
		g.VPANDQ(r.last, w, w)
		g.VPSLLVQ(w, r.one, bit)
		g.VPTESTMQ(bit, e, is)
		v := r.before(g, e, bit)
		g.VMOVDQA64_Z(v, is, v)
		g.VPMOVQD(v, at(ids, 0))
		g.advance(64, values)
		g.advance(32, ids)
	})
}

// rankQuads makes words that AVX2 compares, which are signed, by turning their first
// bits round.
func rankQuads(g *gen, r *rankRoom, n, ids, values reg.Register) {
	flip, base, limit, turned := g.everyQuad(1<<63), g.quadOf("base"), g.quadOf("limit"), g.YMM()
	g.VPXOR(flip, limit, turned)
	g.count(n, func() {
		for q := range 2 {
			w, over, i, bit := g.loaded(at(values, 32*q)), g.YMM(), g.YMM(), g.YMM()
			g.VPSUBQ(base, w, w)
			g.VPXOR(flip, w, over)
			g.VPCMPGTQ(turned, over, over)
			g.VPBLENDVB(over, limit, w, w)
			g.VPSRLQ(operand.U8(5), w, i)
			e, none := g.gatherQuads(r.entries, i, 0), g.zero()
			g.VPAND(r.last, w, w)
			g.VPSLLVQ(w, r.one, bit)
			v := r.before(g, e, bit)
			g.VPAND(bit, e, e)
			g.VPCMPEQQ(none, e, none)
			g.VPANDN(v, none, v)
			g.VMOVDQU(g.dwordsOf(v, lowHalves), at(ids, 16*q))
		}
		g.advance(64, values)
		g.advance(32, ids)
	})
}
