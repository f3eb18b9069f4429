package main

import "github.com/mmcloughlin/avo/operand"

// sieve makes the loops that keep the records of a range of hashes, and those that
// look records up. The first need what AVX2 has not got: registers that are compressed
// by a mask, and products of 64 bits.
func sieve(g *gen) {
	if g.wide() {
		sieveLoop(g)
	}
	lookLoop(g)
}

// hashFactor is that of kernels/cpu/grouptallyparts.go.
const hashFactor = 0x9e3779b97f4a7c15

func sieveLoop(g *gen) {
	g.function("sieve", "(records, words, values []uint64, marks []byte, base, shift, part uint64) (kept int)", `is
	for j, w := range words {
		w -= base
		h := (w ^ w>>32) * hashFactor
		if h>>shift == part {
			records[2*kept], records[2*kept+1] = h, values[j]
			kept++
			marks[j/8] |= 1 << (j % 8)
		}
	}
where marks are 0 before, and may write anything to the 16 words of records behind them.
len(words) is a multiple of 8, and shift may be 64.`)
	records, words, n, values, marks := g.base("records"), g.base("words"), g.length("words"), g.base("values"), g.base("marks")
	base, part, factor := g.ZMM(), g.ZMM(), g.everyQuad(hashFactor)
	g.VPBROADCASTQ(g.Load(g.Param("base"), g.GP64()), base)
	g.VPBROADCASTQ(g.Load(g.Param("part"), g.GP64()), part)
	shift := g.XMM()
	g.VMOVQ(g.Load(g.Param("shift"), g.GP64()), shift)
	low, high := g.quads(0, 8, 1, 9, 2, 10, 3, 11), g.quads(4, 12, 5, 13, 6, 14, 7, 15)
	begin, k, bits := g.GP64(), g.K(), g.GP64()
	g.MOVQ(records, begin)
	g.SHRQ(operand.U8(3), n)
	g.count(n, func() {
		h, t, v := g.ZMM(), g.ZMM(), g.ZMM()
		g.VMOVDQU64(at(words, 0), h)
		g.VPSUBQ(base, h, h)
		g.foldQuads(32, h)
		g.VPMULLQ(factor, h, h)
		g.VPSRLQ(shift, h, t)
		g.VPCMPEQQ(part, t, k)
		g.KMOVB(k, at(marks, 0))
		g.KMOVB(k, bits.As32())
		g.POPCNTL(bits.As32(), bits.As32())
		g.VMOVDQU64(at(values, 0), v)
		g.VPCOMPRESSQ_Z(h, k, h)
		g.VPCOMPRESSQ_Z(v, k, v)
		g.VMOVDQA64(h, t)
		g.VPERMT2Q(v, low, t)
		g.VPERMT2Q(v, high, h)
		g.VMOVDQU64(t, at(records, 0))
		g.VMOVDQU64(h, at(records, 64))
		g.SHLQ(operand.U8(4), bits)
		g.ADDQ(bits, records)
		g.advance(64, words, values)
		g.INCQ(marks)
	})
	g.SUBQ(begin, records)
	g.SHRQ(operand.U8(4), records)
	g.Store(records, g.Return("kept"))
	g.leave()
}

func lookLoop(g *gen) {
	g.function("look", "(heads []uint32, records []uint64, slots *uint64, shift, mask, free uint64)", `is
	for j := range heads {
		w := records[2*j] &^ free
		i := w >> shift
		if slots[3*(i&mask)] != w {
			i++
			if slots[3*(i&mask)] != w {
				i++
			}
		}
		heads[j] = uint32(i)
	}
len(heads) is a multiple of 8. Reading the slots of eight records takes so few
instructions that more of these reads are under way at a time than of one after another.`)
	heads, n, records, slots := g.base("heads"), g.length("heads"), g.base("records"), g.Load(g.Param("slots"), g.GP64())
	g.SHRQ(operand.U8(3), n)
	if !g.wide() {
		lookQuads(g, n, heads, records, slots)
		return
	}
	mask, free, one, shift := g.ZMM(), g.ZMM(), g.everyQuad(1), g.XMM()
	g.VPBROADCASTQ(g.Load(g.Param("mask"), g.GP64()), mask)
	g.VPBROADCASTQ(g.Load(g.Param("free"), g.GP64()), free)
	g.VMOVQ(g.Load(g.Param("shift"), g.GP64()), shift)
	even := g.quads(0, 2, 4, 6, 8, 10, 12, 14)
	all, differ := g.K(), g.K()
	const unequal = 4
	g.count(n, func() {
		w, i, place, double, found := g.ZMM(), g.ZMM(), g.ZMM(), g.ZMM(), g.ZMM()
		g.VMOVDQU64(at(records, 0), w)
		g.VPERMT2Q(at(records, 64), even, w)
		g.VPANDNQ(w, free, w)
		g.VPSRLQ(shift, w, i)
		places := func() {
			g.VPANDQ(mask, i, place)
			g.VPSLLQ(operand.U8(1), place, double)
			g.VPADDQ(double, place, place)
		}
		places()
		g.KXNORB(all, all, all)
		g.VPXORQ(found, found, found)
		g.VPGATHERQQ(operand.Mem{Base: slots, Index: place, Scale: 8}, all, found)
		g.VPCMPUQ(operand.U8(unequal), found, w, differ)
		g.VPADDQ(one, i, differ, i)
		places()
		g.VMOVDQA64(w, found) // what is not read again does not differ
		g.VPGATHERQQ(operand.Mem{Base: slots, Index: place, Scale: 8}, differ, found)
		g.VPCMPUQ(operand.U8(unequal), found, w, differ)
		g.VPADDQ(one, i, differ, i)
		g.VPMOVQD(i, at(heads, 0))
		g.advance(128, records)
		g.advance(32, heads)
	})
	g.leave()
}
