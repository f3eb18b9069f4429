package main

import (
	"math"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// conversion is a cast of numbers, of as many at a time as the wider type has
// lanes. lanes leaves in bad, on the AVX-512 tier, bits of the lanes that did not
// fit, on the other lanes of ones of the wider type; exact casts leave it alone.
type conversion struct {
	name     string
	from, to element
	exact    bool
	values   []uint64 // of which lanes gets registers full
	lanes    func(g *gen, from operand.Mem, to operand.Mem, bad misfits, c []reg.VecVirtual)
}

// misfits are where conversions put what does not fit: one of the two.
type misfits struct {
	mask  reg.Register
	lanes reg.VecVirtual
}

var (
	int32s, int64s     = elements[2], elements[3]
	float32s, float64s = elements[8], elements[9]
)

var conversions = []conversion{
	{"convertInt32Int64", int32s, int64s, true, nil, func(g *gen, from, to operand.Mem, _ misfits, _ []reg.VecVirtual) {
		v := g.vector()
		g.VPMOVSXDQ(from, v)
		g.store(v, to)
	}},
	{"convertInt32Float64", int32s, float64s, true, nil, func(g *gen, from, to operand.Mem, _ misfits, _ []reg.VecVirtual) {
		v := g.vector()
		g.VCVTDQ2PD(from, v)
		g.store(v, to)
	}},
	{"convertFloat32Float64", float32s, float64s, true, nil, func(g *gen, from, to operand.Mem, _ misfits, _ []reg.VecVirtual) {
		v := g.vector()
		g.VCVTPS2PD(from, v)
		g.store(v, to)
	}},
	{"convertFloat64Float32", float64s, float32s, false, []uint64{math.Float64bits(math.Inf(1)), 1 << 63}, doubleToSingle},
	{"convertInt64Int32", int64s, int32s, false, nil, quadToDouble},
	{"convertFloat64Int32", float64s, int32s, false, []uint64{math.Float64bits(math.MaxInt32)}, float64ToInt32},
	{"convertInt64Float64", int64s, float64s, false, nil, int64ToFloat64},
	{"convertFloat64Int64", float64s, int64s, false, []uint64{math.Float64bits(1 << 63), 1<<63 - 1}, float64ToInt64},
}

// convertStep is the values that a conversion takes at a time.
const convertStep = 32

// convert makes the casts between the numbers that tables are mostly made of.
func convert(g *gen) {
	for _, c := range conversions {
		convertLoop(g, c)
	}
}

func convertLoop(g *gen, c conversion) {
	result, doc := " bool", `is
	bad := false
	for i := range src {
		dst[i] = `+c.to.name+`(src[i]), the nearest there is, of NaN 0
		bad = bad || src[i] does not fit
	}
	return bad
len(src) is a multiple of 32; dst is no shorter.`
	if c.exact {
		result, doc = "", `is
	for i := range src {
		dst[i] = `+c.to.name+`(src[i])
	}
len(src) is a multiple of 32; dst is no shorter.`
	}
	g.function(c.name, "(dst []"+c.to.name+", src []"+c.from.name+")"+result, doc)
	dst, src, n := g.base("dst"), g.base("src"), g.length("src")
	var bad misfits
	switch {
	case c.exact:
	case g.wide():
		bad.mask = g.K()
		g.KXORQ(bad.mask, bad.mask, bad.mask)
	default:
		bad.lanes = g.zero()
	}
	lanes := g.bytes / 8
	all := c.values
	if by := halves[c.name]; by != nil && !g.wide() {
		all = by
	}
	var values []reg.VecVirtual
	for _, v := range all {
		values = append(values, g.everyQuad(v))
	}
	g.SHRQ(operand.U8(5), n)
	g.count(n, func() {
		for i := 0; i < convertStep; i += lanes {
			c.lanes(g, at(src, i*c.from.size), at(dst, i*c.to.size), bad, values)
		}
		g.advance(convertStep*c.from.size, src)
		g.advance(convertStep*c.to.size, dst)
	})
	if !c.exact {
		any := g.GP8()
		if g.wide() {
			g.KORTESTB(bad.mask, bad.mask)
		} else {
			g.VPTEST(bad.lanes, bad.lanes)
		}
		g.SETNE(any)
		g.Store(any, g.ReturnIndex(0))
	}
	g.leave()
}

// half is a new register of half the vector's width.
func (g *gen) half() reg.VecVirtual {
	if g.wide() {
		return g.YMM()
	}
	return g.XMM()
}

func (g *gen) narrow(e element, v, dst reg.VecVirtual) {
	switch {
	case e == float32s && g.wide():
		g.VCVTPD2PS(v, dst)
	case e == float32s:
		g.VCVTPD2PSY(v, dst)
	case g.wide():
		g.VCVTTPD2DQ(v, dst)
	default:
		g.VCVTTPD2DQY(v, dst)
	}
}

// differ adds to bad the lanes in which a and b are not the same float64, which
// NaN are not either.
func (g *gen) differ(a, b reg.VecVirtual, bad misfits) {
	const unequal = 4
	if g.wide() {
		k := g.K()
		g.VCMPPD(operand.U8(unequal), b, a, k)
		g.KORB(k, bad.mask, bad.mask)
		return
	}
	m := g.vector()
	g.VCMPPD(operand.U8(unequal), b, a, m)
	g.VPOR(m, bad.lanes, bad.lanes)
}

// doubleToSingle finds infinities that were none before.
func doubleToSingle(g *gen, from, to operand.Mem, bad misfits, c []reg.VecVirtual) {
	v, s := g.loaded(from), g.half()
	g.narrow(float32s, v, s)
	g.VMOVUPS(s, to)
	if g.wide() {
		now, before := g.K(), g.K()
		const infinities = 0x18
		g.VFPCLASSPSY(operand.U8(infinities), s, now)
		g.VFPCLASSPDZ(operand.U8(infinities), v, before)
		g.KANDNB(now, before, now)
		g.KORB(now, bad.mask, bad.mask)
		return
	}
	back, now, before := g.vector(), g.vector(), g.vector()
	g.VCVTPS2PD(s, back)
	infinity, sign := c[0], c[1]
	g.VPANDN(back, sign, back)
	g.VPANDN(v, sign, v)
	g.VPCMPEQQ(infinity, back, now)
	g.VPCMPEQQ(infinity, v, before)
	g.VPANDN(now, before, now)
	g.VPOR(now, bad.lanes, bad.lanes)
}

func quadToDouble(g *gen, from, to operand.Mem, bad misfits, _ []reg.VecVirtual) {
	v, back := g.loaded(from), g.vector()
	if g.wide() {
		y, k := g.YMM(), g.K()
		g.VPMOVQD(v, y)
		g.VMOVDQU(y, to)
		g.VPMOVSXDQ(y, back)
		g.VPCMPQ(operand.U8(4), v, back, k)
		g.KORB(k, bad.mask, bad.mask)
		return
	}
	even, x := g.vector(), g.XMM()
	g.VPSHUFD(operand.U8(0x08), v, even)
	g.VPERMQ(operand.U8(0x08), even, even)
	g.VMOVDQU(even.AsX(), to)
	g.VMOVDQA(even.AsX(), x)
	g.VPMOVSXDQ(x, back)
	g.VPXOR(v, back, back)
	g.VPOR(back, bad.lanes, bad.lanes)
}

// float64ToInt32 puts 0 for NaN and the greatest for what is more before it
// converts; what is too little becomes the least as processors have it.
func float64ToInt32(g *gen, from, to operand.Mem, bad misfits, c []reg.VecVirtual) {
	v, x, y, back := g.loaded(from), g.vector(), g.half(), g.vector()
	const ordered = 7
	if g.wide() {
		k := g.K()
		g.VCMPPD(operand.U8(ordered), v, v, k)
		g.VMOVDQA64_Z(v, k, x)
	} else {
		g.VCMPPD(operand.U8(ordered), v, v, x)
		g.VPAND(v, x, x)
	}
	g.VMINPD(c[0], x, x)
	g.narrow(int32s, x, y)
	g.VMOVDQU(y, to)
	g.VCVTDQ2PD(y, back)
	g.differ(back, v, bad)
}

// int64ToFloat64 converts back: what was rounded up past the greatest is the
// least then.
func int64ToFloat64(g *gen, from, to operand.Mem, bad misfits, c []reg.VecVirtual) {
	if !g.wide() {
		halvesToFloat64(g, from, to, bad, c)
		return
	}
	v, f, back, k := g.loaded(from), g.vector(), g.vector(), g.K()
	g.VCVTQQ2PD(v, f)
	g.store(f, to)
	g.VCVTTPD2QQ(f, back)
	g.VPCMPQ(operand.U8(4), v, back, k)
	g.KORB(k, bad.mask, bad.mask)
}

func float64ToInt64(g *gen, from, to operand.Mem, bad misfits, c []reg.VecVirtual) {
	if !g.wide() {
		float64ToHalves(g, from, to, bad, c)
		return
	}
	v, q, back := g.loaded(from), g.vector(), g.vector()
	none, above := g.K(), g.K()
	const unordered, greaterEqual = 3, 0x1d
	g.VCVTTPD2QQ(v, q)
	g.VCMPPD(operand.U8(unordered), v, v, none)
	g.VCMPPD(operand.U8(greaterEqual), c[0], v, above)
	g.VPXORQ(q, q, none, q)
	g.VMOVDQA64(c[1], above, q)
	g.store(q, to)
	g.KORB(above, bad.mask, bad.mask)
	g.VCVTQQ2PD(q, back)
	g.differ(back, v, bad)
}
