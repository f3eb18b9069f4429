package main

import (
	"strconv"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// network makes the sorting networks of 8, 16 and 32 numbers that stay in
// registers throughout.
func network(g *gen) {
	for _, n := range []int{8, 16, 32} {
		networkLoop(g, n)
	}
}

// columnNetworks are networks (Knuth, The Art of Computer Programming 3, 5.3.4) of as
// many registers, whose lanes are so many columns.
var columnNetworks = map[int][][2]int{
	1: {},
	2: {{0, 1}},
	4: {{0, 1}, {2, 3}, {0, 2}, {1, 3}, {1, 2}},
	8: {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {1, 2}, {5, 6},
		{0, 4}, {1, 5}, {2, 6}, {3, 7}, {2, 4}, {3, 5}, {1, 2}, {3, 4}, {5, 6}},
}

// networkLoop sorts the columns, which takes no shuffle, and then merges columns
// beside each other by Batcher's bitonic sort, the registers being the low bits
// of a place and the lanes the high ones: which number a lane begins with does
// not matter to what is sorted anyway.
func networkLoop(g *gen, n int) {
	g.function("network"+strconv.Itoa(n), "(v []uint64)", "is slices.Sort(v). len(v) is "+strconv.Itoa(n)+". All values are below 2^63.")
	v := g.base("v")
	lanes := g.bytes / 8
	regs := make([]reg.VecVirtual, n/lanes)
	for i := range regs {
		regs[i] = g.loaded(at(v, i*g.bytes))
	}
	for _, c := range columnNetworks[len(regs)] {
		g.exchange(regs, c[0], c[1])
	}
	high := map[int]laneSet{}
	for bit := 1; bit < lanes; bit *= 2 {
		high[bit] = g.lanesWith(bit)
	}
	for bit := 1; bit < lanes; bit *= 2 {
		for r := range (len(regs) + 1) / 2 { // the second column is turned round
			q := len(regs) - 1 - r
			a, b := g.crossed(regs[q], 2*bit-1), reg.VecVirtual(nil)
			if q != r {
				b = g.crossed(regs[r], 2*bit-1)
				regs[q] = g.pick(regs[q], b, high[bit])
			}
			regs[r] = g.pick(regs[r], a, high[bit])
		}
		for lower := bit / 2; lower > 0; lower /= 2 {
			for r := range regs {
				regs[r] = g.pick(regs[r], g.crossed(regs[r], lower), high[lower])
			}
		}
		for d := len(regs) / 2; d > 0; d /= 2 {
			for r := range regs {
				if r&d == 0 {
					g.exchange(regs, r, r+d)
				}
			}
		}
	}
	if g.wide() {
		interleaveWide(g, regs)
		for i, r := range regs {
			g.store(r, at(v, i*g.bytes))
		}
	} else {
		storeColumns(g, regs, v)
	}
	g.leave()
}

// exchange puts the lesser of each lane into register a, the greater into b.
func (g *gen) exchange(regs []reg.VecVirtual, a, b int) {
	less, more := g.vector(), g.vector()
	if g.wide() {
		g.VPMINUQ(regs[b], regs[a], less)
		g.VPMAXUQ(regs[b], regs[a], more)
	} else {
		greater := g.vector()
		g.VPCMPGTQ(regs[b], regs[a], greater)
		g.VBLENDVPD(greater, regs[b], regs[a], less)
		g.VBLENDVPD(greater, regs[a], regs[b], more)
	}
	regs[a], regs[b] = less, more
}

// laneSet is a mask of lanes: of ones in a register on the AVX2 tier.
type laneSet struct {
	mask reg.Register
	ones reg.VecVirtual
}

// lanesWith are the lanes whose number has a bit.
func (g *gen) lanesWith(bit int) laneSet {
	if g.wide() {
		bits, k := g.GP32(), g.K()
		g.MOVL(operand.U32(map[int]uint32{1: 0xaa, 2: 0xcc, 4: 0xf0}[bit]), bits)
		g.KMOVW(bits, k)
		return laneSet{mask: k}
	}
	var quads [4]uint64
	for i := range quads {
		if i&bit != 0 {
			quads[i] = 1<<64 - 1
		}
	}
	return laneSet{ones: g.dataVector(g.label("lanes"), quads[:]...)}
}

// crossed is a new register whose lane i is lane i ^ by of v.
func (g *gen) crossed(v reg.VecVirtual, by int) reg.VecVirtual {
	t := g.vector()
	switch by {
	case 1:
		g.VPSHUFD(operand.U8(0x4e), v, t)
	case 2:
		g.VPERMQ(operand.U8(0x4e), v, t)
	case 3:
		g.VPERMQ(operand.U8(0x1b), v, t)
	case 4:
		g.VSHUFI64X2(operand.U8(0x4e), v, v, t)
	default:
		g.VSHUFI64X2(operand.U8(0x1b), v, v, t)
		g.VPSHUFD(operand.U8(0x4e), t, t)
	}
	return t
}

// pick is a new register of the lesser of a and b, in the high lanes of the
// greater.
func (g *gen) pick(a, b reg.VecVirtual, high laneSet) reg.VecVirtual {
	v := g.vector()
	if g.wide() {
		g.VPMINUQ(b, a, v)
		g.VPMAXUQ(b, a, high.mask, v)
		return v
	}
	greater := g.vector()
	g.VPCMPGTQ(b, a, greater)
	g.VPXOR(high.ones, greater, greater)
	g.VBLENDVPD(greater, b, a, v)
	return v
}

// interleaveWide brings registers of columns into the order of places.
func interleaveWide(g *gen, regs []reg.VecVirtual) {
	if len(regs) == 1 {
		return
	}
	low, high := g.quads(0, 8, 1, 9, 2, 10, 3, 11), g.quads(4, 12, 5, 13, 6, 14, 7, 15)
	for i := 0; i < len(regs); i += 2 {
		regs[i], regs[i+1] = g.permuted(regs[i], regs[i+1], low, high)
	}
	if len(regs) == 2 {
		return
	}
	low, high = g.quads(0, 1, 8, 9, 2, 3, 10, 11), g.quads(4, 5, 12, 13, 6, 7, 14, 15)
	a, b := g.permuted(regs[0], regs[2], low, high)
	c, d := g.permuted(regs[1], regs[3], low, high)
	regs[0], regs[1], regs[2], regs[3] = a, b, c, d
}

// quads is a new wide register of constants.
func (g *gen) quads(all ...uint64) reg.VecVirtual {
	m := g.StaticGlobal(g.label("quads"))
	g.DataAttributes(readOnly)
	for i, q := range all {
		g.AddDatum(8*i, operand.U64(q))
	}
	return g.loaded(m)
}

// permuted are the lanes of a, and of b from 8 on, that two registers number.
func (g *gen) permuted(a, b, first, second reg.VecVirtual) (x, y reg.VecVirtual) {
	x = g.vector()
	g.VMOVDQA64(a, x)
	g.VPERMT2Q(b, first, x)
	g.VPERMT2Q(b, second, a)
	return x, a
}

// storeColumns stores registers of four columns in the order of places.
func storeColumns(g *gen, regs []reg.VecVirtual, v reg.Register) {
	const low, high = 0x20, 0x31
	join := func(half uint8, a, b reg.VecVirtual, place int) {
		t := g.vector()
		g.VPERM2I128(operand.U8(half), b, a, t)
		g.store(t, at(v, 8*place))
	}
	var even, odd []reg.VecVirtual
	for i := 0; i < len(regs); i += 2 {
		a, b := g.vector(), g.vector()
		g.VPUNPCKLQDQ(regs[i+1], regs[i], a)
		g.VPUNPCKHQDQ(regs[i+1], regs[i], b)
		even, odd = append(even, a), append(odd, b)
	}
	if len(regs) == 2 {
		join(low, even[0], odd[0], 0)
		join(high, even[0], odd[0], 4)
		return
	}
	for i := 0; i < len(even); i += 2 {
		for lane, pairs := range [4][]reg.VecVirtual{even, odd, even, odd} {
			join([]uint8{low, high}[lane/2], pairs[i], pairs[i+1], lane*len(regs)+2*i)
		}
	}
}
