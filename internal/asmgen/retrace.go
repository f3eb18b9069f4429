package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// retrace makes the loops that move words to their parts, and bring what came in
// their stead back in the order in which they were.
func retrace(g *gen) {
	clampLoop(g)
	offsetsLoop(g)
	backLoop(g)
}

// wordsAhead is how many bytes ahead of words memory is asked for: of streams that are
// also written to others a core has too few lines under way by itself.
const wordsAhead = 2 << 10

// clampLoop is for words as offsets. AVX2 compares them as signed numbers.
func clampLoop(g *gen) {
	g.function("clamp", "(offsets, words []uint64, base, limit uint64)",
		`is clampWords. len(words) is a multiple of 8, offsets are as long.`)
	offsets, words, n := g.base("offsets"), g.base("words"), g.length("words")
	g.SHRQ(operand.U8(3), n)
	broadcast := func(name string) reg.VecVirtual {
		v, x := g.vector(), g.XMM()
		g.MOVQ(g.Load(g.Param(name), g.GP64()), x)
		g.VPBROADCASTQ(x, v)
		return v
	}
	base, limit := broadcast("base"), broadcast("limit")
	sign, signed := g.vector(), g.vector()
	if !g.wide() {
		g.VPCMPEQQ(sign, sign, sign)
		g.VPSLLQ(operand.U8(63), sign, sign)
		g.VPXOR(sign, limit, signed)
	}
	g.count(n, func() {
		g.PREFETCHT0(at(words, wordsAhead))
		for b := 0; b < 64; b += g.bytes {
			v := g.vector()
			if g.wide() {
				g.VMOVDQU64(at(words, b), v)
				g.VPSUBQ(base, v, v)
				g.VPMINUQ(limit, v, v)
				g.VMOVDQU64(v, at(offsets, b))
				continue
			}
			over := g.vector()
			g.VMOVDQU(at(words, b), v)
			g.VPSUBQ(base, v, v)
			g.VPXOR(sign, v, over)
			g.VPCMPGTQ(signed, over, over)
			g.VPBLENDVB(over, limit, v, v)
			g.VMOVDQU(v, at(offsets, b))
		}
		g.advance(64, words, offsets)
	})
	g.leave()
}

// offset is a word of words less base, at most limit, and its part.
func (g *gen) offset(words, base, limit, shift reg.Register) (w, part reg.GPVirtual) {
	w, part = g.GP64(), g.GP64()
	g.PREFETCHT0(at(words, wordsAhead))
	g.MOVQ(at(words, 0), w)
	g.SUBQ(base, w)
	g.CMPQ(w, limit)
	g.CMOVQHI(limit, w)
	g.SHRXQ(shift, w, part)
	return w, part
}

// offsetsLoop is for lines of words, which have their places in them.
func offsetsLoop(g *gen) {
	g.function("offsets", "(words []uint64, base, limit uint64, shift uint, room, to []uint64) (taken int)",
		`is putOffsets. The first bytes of room and to are those of a line, shift is below 64.
What was stored is seen by others after a fence.`)
	words, n, room, to := g.base("words"), g.length("words"), g.base("room"), g.base("to")
	base, limit, shift := g.Load(g.Param("base"), g.GP64()), g.Load(g.Param("limit"), g.GP64()), g.Load(g.Param("shift"), g.GP64())
	top, on, full, end := g.label("top"), g.label("on"), g.label("full"), g.label("end")
	place, lane, start := g.GP64(), g.GP64(), g.GP64()
	g.TESTQ(n, n)
	g.JZ(operand.LabelRef(end))
	g.Label(top)
	w, line := g.offset(words, base, limit, shift)
	g.SHLQ(operand.U8(6), line)
	g.ADDQ(room, line)
	g.MOVQ(at(line, 56), place)
	g.MOVL(place.As32(), lane.As32())
	g.ANDL(operand.U32(7), lane.As32())
	g.CMPL(lane.As32(), operand.U32(7))
	g.JEQ(operand.LabelRef(full))
	g.INCQ(place)
	g.MOVQ(place, at(line, 56))
	g.MOVQ(w, operand.Mem{Base: line, Index: lane, Scale: 8})
	g.Label(on)
	g.advance(8, words)
	g.DECQ(n)
	g.JNZ(operand.LabelRef(top))
	g.JMP(operand.LabelRef(end))
	g.Label(full)
	g.MOVQ(place, start)
	g.SHRQ(operand.U8(32), start)
	g.LEAL(operand.Mem{Base: place, Disp: -7}, lane.As32())
	g.CMPL(lane.As32(), start.As32())
	g.JCS(operand.LabelRef(end))
	g.MOVQ(w, at(line, 56))
	for b := 0; b < 64; b += g.bytes {
		g.VMOVNTDQ(g.loaded(at(line, b)), operand.Mem{Base: to, Index: lane, Scale: 8, Disp: b})
	}
	g.INCQ(place)
	g.MOVQ(place, at(line, 56))
	g.JMP(operand.LabelRef(on))
	g.Label(end)
	taken := g.length("words")
	g.SUBQ(n, taken)
	g.Store(taken, g.Return("taken"))
	g.leave()
}

// backAhead is how many bytes ahead of each part's next value memory is asked for:
// parts are too many for the processor to see that each is read in order.
const backAhead = 128

// backLoop brings values back.
func backLoop(g *gen) {
	g.function("back", "(out, words []uint64, base, limit uint64, shift uint, places []uint32, values []uint64)",
		`is bringBack. out is as long as words are, shift is below 64.`)
	out, words, n, places, values := g.base("out"), g.base("words"), g.length("words"), g.base("places"), g.base("values")
	base, limit, shift := g.Load(g.Param("base"), g.GP64()), g.Load(g.Param("limit"), g.GP64()), g.Load(g.Param("shift"), g.GP64())
	g.count(n, func() {
		place, next, v := g.GP64(), g.GP64(), g.GP64()
		_, part := g.offset(words, base, limit, shift)
		g.MOVL(operand.Mem{Base: places, Index: part, Scale: 4}, place.As32())
		g.LEAL(operand.Mem{Base: place, Disp: 1}, next.As32())
		g.MOVL(next.As32(), operand.Mem{Base: places, Index: part, Scale: 4})
		g.MOVQ(operand.Mem{Base: values, Index: place, Scale: 8}, v)
		g.PREFETCHT0(operand.Mem{Base: values, Index: place, Scale: 8, Disp: backAhead})
		g.MOVQ(v, at(out, 0))
		g.advance(8, words, out)
	})
	g.leave()
}
