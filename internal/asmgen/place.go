package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// place makes the loops that look for the keys of a join. They gather: a core has the
// places of eight keys in as many instructions as one takes, and so waits for more of
// them at a time.
func place(g *gen) {
	closeLoop(g)
	seekLoop(g)
	rankLoop(g)
}

// Predicates of comparisons of unsigned integers.
const (
	isEqual     = operand.U8(0)
	isLessEqual = operand.U8(2)
	isUnequal   = operand.U8(4)
)

func closeLoop(g *gen) {
	g.function("close", "(ids []uint32, values []uint64, base, span uint64, places []uint32)", `is
	for j, v := range values {
		ids[j] = 0
		if v-base <= span {
			ids[j] = places[v-base]
		}
	}
len(values) is a multiple of 8.`)
	ids, values, n, places := g.base("ids"), g.base("values"), g.length("values"), g.base("places")
	g.SHRQ(operand.U8(3), n)
	if !g.wide() {
		closeQuads(g, n, ids, values, places)
		return
	}
	base, span := g.ZMM(), g.ZMM()
	g.VPBROADCASTQ(g.Load(g.Param("base"), g.GP64()), base)
	g.VPBROADCASTQ(g.Load(g.Param("span"), g.GP64()), span)
	in := g.K()
	g.count(n, func() {
		v, id := g.ZMM(), g.YMM()
		g.VMOVDQU64(at(values, 0), v)
		g.VPSUBQ(base, v, v)
		g.VPCMPUQ(isLessEqual, span, v, in)
		g.VPXOR(id, id, id)
		g.VPGATHERQD(operand.Mem{Base: places, Index: v, Scale: 4}, in, id)
		g.VMOVDQU(id, at(ids, 0))
		g.advance(64, values)
		g.advance(32, ids)
	})
	g.leave()
}

func seekLoop(g *gen) {
	g.function("seek", "(ids []uint32, at []uint64, tags, rest []uint32, hashes, marks []uint64, slots []uint64, cut, region, stride uint64) (n int)", `is
	for j, h := range hashes {
		tag := uint32(marks[j])
		i := h<<cut>>32*region>>32 + h>>(64-cut)*stride
		first, second, e, place := slots[i], slots[i+1], slots[i+2], i+2
		if uint32(second>>32) == tag {
			e, place = second, i+1
		}
		if uint32(first>>32) == tag {
			e, place = first, i
		}
		if first == 0 {
			e = 0
		}
		ids[j], at[j], tags[j] = uint32(e), place, tag
		if e != 0 && uint32(e>>32) != tag {
			rest[n] = uint32(j)
			n++
		}
	}
where cut may be 0, region and stride are below 2^32, and anything may be written to
rest, which is as long as hashes are. len(hashes) is a multiple of 8.`)
	ids, places, tags, rest := g.base("ids"), g.base("at"), g.base("tags"), g.base("rest")
	hashes, n, marks, slots := g.base("hashes"), g.length("hashes"), g.base("marks"), g.base("slots")
	cut, back, begin := g.XMM(), g.XMM(), g.GP64()
	shift, left := g.Load(g.Param("cut"), g.GP64()), g.GP64()
	g.VMOVQ(shift, cut)
	g.MOVQ(operand.U32(64), left)
	g.SUBQ(shift, left)
	g.VMOVQ(left, back)
	g.MOVQ(rest, begin)
	g.SHRQ(operand.U8(3), n)
	if g.wide() {
		seekWords(g, n, seekTo{ids, places, tags, rest, hashes, marks, slots}, back, cut)
	} else {
		seekQuads(g, n, seekTo{ids, places, tags, rest, hashes, marks, slots}, back, cut)
	}
	g.SUBQ(begin, rest)
	g.SHRQ(operand.U8(2), rest)
	g.Store(rest, g.Return("n"))
	g.leave()
}

// seekTo are the pointers of seek, which go on with each step.
type seekTo struct{ ids, places, tags, rest, hashes, marks, slots reg.Register }

// seekWords is seek by registers of eight words.
func seekWords(g *gen, n reg.Register, s seekTo, back, cut reg.Register) {
	region, stride := g.ZMM(), g.ZMM()
	g.VPBROADCASTQ(g.Load(g.Param("region"), g.GP64()), region)
	g.VPBROADCASTQ(g.Load(g.Param("stride"), g.GP64()), stride)
	one, low := g.everyQuad(1), g.everyQuad(1<<32-1)
	row, eight, bits := g.quads(0, 1, 2, 3, 4, 5, 6, 7), g.everyQuad(8), g.GP64()
	is, others, all := g.K(), g.K(), g.K()
	gather := func(from reg.Register, offset int, to reg.VecVirtual) {
		g.KXNORB(all, all, all)
		g.VPXORQ(to, to, to)
		g.VPGATHERQQ(operand.Mem{Base: s.slots, Index: from, Scale: 8, Disp: 8 * offset}, all, to)
	}
	g.count(n, func() {
		h, part, i, tag := g.ZMM(), g.ZMM(), g.ZMM(), g.ZMM()
		first, second, e, top, short := g.ZMM(), g.ZMM(), g.ZMM(), g.ZMM(), g.YMM()
		g.VMOVDQU64(at(s.hashes, 0), h)
		g.VPSRLQ(back, h, part)
		g.VPMULUDQ(stride, part, part)
		g.VPSLLQ(cut, h, i)
		g.VPSRLQ(operand.U8(32), i, i)
		g.VPMULUDQ(region, i, i)
		g.VPSRLQ(operand.U8(32), i, i)
		g.VPADDQ(part, i, i)
		gather(i, 0, first)
		gather(i, 1, second)
		gather(i, 2, e)
		g.VPANDQ(at(s.marks, 0), low, tag)
		g.VPMOVQD(tag, at(s.tags, 0))
		place := part
		g.VPADDQ(one, i, h) // the second place
		g.VPADDQ(one, h, place)
		g.VPSRLQ(operand.U8(32), second, top)
		g.VPCMPUQ(isEqual, tag, top, is)
		g.VMOVDQA64(second, is, e)
		g.VMOVDQA64(h, is, place)
		g.VPSRLQ(operand.U8(32), first, top)
		g.VPCMPUQ(isEqual, tag, top, is)
		g.VMOVDQA64(first, is, e)
		g.VMOVDQA64(i, is, place)
		g.VPTESTMQ(first, first, is)
		g.VMOVDQA64_Z(e, is, e)
		g.VMOVDQU64(place, at(s.places, 0))
		g.VPMOVQD(e, at(s.ids, 0))
		g.VPSRLQ(operand.U8(32), e, top)
		g.VPCMPUQ(isUnequal, tag, top, is)
		g.VPTESTMQ(e, e, others)
		g.KANDB(is, others, is)
		g.VPCOMPRESSQ_Z(row, is, top)
		g.VPMOVQD(top, short)
		g.VMOVDQU(short, at(s.rest, 0))
		g.KMOVB(is, bits.As32())
		g.POPCNTL(bits.As32(), bits.As32())
		g.SHLQ(operand.U8(2), bits)
		g.ADDQ(bits, s.rest)
		g.VPADDQ(eight, row, row)
		g.advance(64, s.hashes, s.marks, s.places)
		g.advance(32, s.ids, s.tags)
	})
}
