package main

import (
	"strconv"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// take makes the loops that gather values by row numbers.
func take(g *gen) {
	for _, size := range []int{4, 8} {
		for _, index := range []int{4, 8} {
			takeLoop(g, size, index)
		}
	}
}

// takeRows is the rows that have their valid bits in one word.
const takeRows = 64

// takeLoop stops before 64 rows of which one is out of range: a lane whose index is does
// not read, and what the 64 wrote is written again.
func takeLoop(g *gen, size, index int) {
	value, number := strconv.Itoa(8*size), strconv.Itoa(8*index)
	g.function("take"+value+"By"+number, "(dst, src []uint"+value+", indices []uint"+number+", valid []uint64) (taken int)", `is
	for i := range 64*len(valid) {
		dst[i] = 0
		if valid[i/64]>>(i%64)&1 != 0 {
			if uint64(indices[i]) >= uint64(len(src)) {
				return i &^ 63
			}
			dst[i] = src[indices[i]]
		}
	}
	return 64*len(valid)
where len(src) is neither 0 nor, of indices of 32 bits, above 2^31.`)
	dst, src, rows := g.base("dst"), g.base("src"), g.length("src")
	indices, valid, n := g.base("indices"), g.base("valid"), g.length("valid")
	begin, end := g.GP64(), g.label("end")
	g.MOVQ(valid, begin)
	t := taking{g: g, size: size, index: index, src: src}
	t.prepare(rows)
	g.count(n, func() {
		t.begin()
		for row := 0; row < takeRows; row += t.lanes {
			t.take(row, at(dst, row*size), at(indices, row*index), at(valid, row/8))
		}
		t.leaveIfBad(end)
		g.advance(takeRows*size, dst)
		g.advance(takeRows*index, indices)
		g.advance(8, valid)
	})
	g.Label(end)
	g.SUBQ(begin, valid)
	g.SHLQ(operand.U8(3), valid)
	g.Store(valid, g.Return("taken"))
	g.leave()
}

// taking is a loop while it is made: values and indices of so many bytes, so many at
// a time.
type taking struct {
	g                  *gen
	size, index, lanes int
	src                reg.Register
	last               reg.VecVirtual // the last row, or on AVX-512 one more
	flip               reg.VecVirtual // AVX2 compares words with signs
	bits               [2]reg.VecVirtual
	bad                reg.VecVirtual
	refused            reg.OpmaskVirtual
}

func (t *taking) prepare(rows reg.Register) {
	g := t.g
	t.lanes = g.bytes / max(t.size, t.index)
	t.last = g.vector()
	x := g.XMM()
	switch {
	case g.wide() && t.index == 4:
		g.VPBROADCASTD(rows.(reg.GPVirtual).As32(), t.last)
	case g.wide():
		g.VPBROADCASTQ(rows, t.last)
	case t.lanes == 8:
		g.DECQ(rows)
		g.VMOVQ(rows, x)
		g.VPBROADCASTD(x, t.last)
		t.bits[0] = g.loaded(g.constants(4, 1, 2, 4, 8, 16, 32, 64, 128))
	default:
		t.flip = g.everyQuad(1 << 63)
		g.VMOVQ(rows, x)
		g.VPBROADCASTQ(x, t.last)
		g.VPXOR(t.flip, t.last, t.last)
		t.bits = [2]reg.VecVirtual{g.loaded(g.constants(8, 1, 2, 4, 8)), g.loaded(g.constants(8, 16, 32, 64, 128))}
	}
}

// begin forgets which indices were bad.
func (t *taking) begin() {
	if t.g.wide() {
		t.refused = t.g.K()
		t.g.KXORW(t.refused, t.refused, t.refused)
	} else {
		t.bad = t.g.zero()
	}
}

func (t *taking) leaveIfBad(end string) {
	if t.g.wide() {
		t.g.KORTESTW(t.refused, t.refused)
	} else {
		t.g.VPTEST(t.bad, t.bad)
	}
	t.g.JNE(operand.LabelRef(end))
}

func (t *taking) take(row int, dst, indices, valid operand.Mem) {
	if t.g.wide() {
		t.wide(dst, indices, valid)
		return
	}
	t.half(row, dst, indices, valid)
}

func (t *taking) wide(dst, indices, valid operand.Mem) {
	g := t.g
	is, in, out := g.K(), g.K(), g.K()
	const less = operand.U8(1)
	places, v := g.vector(), g.vector()
	if t.lanes == 16 {
		g.KMOVW(valid, is)
		g.VMOVDQU32(indices, places)
		g.VPCMPUD(less, t.last, places, is, in)
	} else {
		g.KMOVB(valid, is)
		if t.index == 4 {
			g.VMOVDQU(indices, places.AsY())
			g.VPCMPUD(less, t.last.AsY(), places.AsY(), is, in)
		} else {
			g.VMOVDQU64(indices, places)
			g.VPCMPUQ(less, t.last, places, is, in)
		}
	}
	g.KXORW(is, in, out)
	g.KORW(out, t.refused, t.refused)
	switch {
	case t.size == 4 && t.index == 4:
		g.VPXORD(v, v, v)
		g.VPGATHERDD(operand.Mem{Base: t.src, Index: places, Scale: 4}, in, v)
		g.VMOVDQU32(v, dst)
	case t.size == 4:
		g.VPXOR(v.AsY(), v.AsY(), v.AsY())
		g.VPGATHERQD(operand.Mem{Base: t.src, Index: places, Scale: 4}, in, v.AsY())
		g.VMOVDQU(v.AsY(), dst)
	case t.index == 4:
		g.VPXORQ(v, v, v)
		g.VPGATHERDQ(operand.Mem{Base: t.src, Index: places.AsY(), Scale: 8}, in, v)
		g.VMOVDQU64(v, dst)
	default:
		g.VPXORQ(v, v, v)
		g.VPGATHERQQ(operand.Mem{Base: t.src, Index: places, Scale: 8}, in, v)
		g.VMOVDQU64(v, dst)
	}
}

// half widens indices of 32 bits of values of 64.
func (t *taking) half(row int, dst, indices, valid operand.Mem) {
	g := t.g
	places, is, in, v := g.YMM(), g.YMM(), g.YMM(), g.YMM()
	bits := t.bits[row/4%2]
	if t.lanes == 8 {
		bits = t.bits[0]
	}
	g.VPBROADCASTB(valid, is)
	g.VPAND(bits, is, is)
	if t.lanes == 8 {
		g.VPCMPEQD(bits, is, is)
		g.VMOVDQU(indices, places)
		g.VPMINUD(t.last, places, in)
		g.VPCMPEQD(places, in, in)
	} else {
		g.VPCMPEQQ(bits, is, is)
		if t.index == 4 {
			g.VPMOVZXDQ(indices, places)
		} else {
			g.VMOVDQU(indices, places)
		}
		g.VPXOR(t.flip, places, in)
		g.VPCMPGTQ(in, t.last, in)
	}
	g.VPAND(is, in, in)
	g.VPXOR(in, is, is)
	g.VPOR(is, t.bad, t.bad)
	switch {
	case t.lanes == 8:
		g.VPXOR(v, v, v)
		g.VPGATHERDD(in, operand.Mem{Base: t.src, Index: places, Scale: 4}, v)
		g.VMOVDQU(v, dst)
	case t.size == 4:
		short, x := g.dwordsOf(in, highHalves), g.XMM()
		g.VPXOR(x, x, x)
		g.VPGATHERQD(short, operand.Mem{Base: t.src, Index: places, Scale: 4}, x)
		g.VMOVDQU(x, dst)
	default:
		g.VPXOR(v, v, v)
		g.VPGATHERQQ(in, operand.Mem{Base: t.src, Index: places, Scale: 8}, v)
		g.VMOVDQU(v, dst)
	}
}

// constants are so many bytes each.
func (g *gen) constants(size int, all ...uint64) operand.Mem {
	m := g.StaticGlobal(g.label("constants"))
	g.DataAttributes(readOnly)
	for i, v := range all {
		if size == 4 {
			g.AddDatum(4*i, operand.U32(v))
		} else {
			g.AddDatum(8*i, operand.U64(v))
		}
	}
	return m
}
