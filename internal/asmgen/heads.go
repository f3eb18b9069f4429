package main

import (
	"strconv"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// heads makes the loops that gather eight bytes of each of eight texts and compare
// them. Offsets of 32 bits become words of 64 first, so that one program does for both.
func heads(g *gen) {
	for _, size := range []int{4, 8} {
		matchHeads(g, size)
		orderHeads(g, size)
		pairHeads(g, size)
	}
}

// headRows is the texts that the loops take at a time: a byte of bits.
const headRows = 8

// textHeads is a loop over texts while it is made.
type textHeads struct {
	*gen
	size int // of an offset
	// Of AVX2, which has no registers of masks, one of 0 and one of first bits.
	zeros, flip reg.VecVirtual
}

func newHeads(g *gen, size int) *textHeads {
	h := &textHeads{gen: g, size: size}
	if !g.wide() {
		h.zeros, h.flip = g.zero(), g.everyQuad(1<<63)
	}
	return h
}

// lanes is how many texts a register has.
func (h *textHeads) lanes() int { return h.bytes / 8 }

// offsets is a new register of those from the i-th on.
func (h *textHeads) offsets(p reg.Register, i int) reg.VecVirtual {
	v := h.vector()
	if h.size == 4 {
		h.VPMOVSXDQ(at(p, 4*i), v)
	} else {
		h.load(at(p, 8*i), v)
	}
	return v
}

// every is a new register of a parameter.
func (h *textHeads) every(param string) reg.VecVirtual {
	v, x := h.vector(), h.XMM()
	h.VMOVQ(h.Load(h.Param(param), h.GP64()), x)
	h.VPBROADCASTQ(x, v)
	return v
}

// mask is a new register for the result of a comparison of words: of AVX2 ones for
// each word, of AVX-512 a bit.
func (h *textHeads) mask() reg.Register {
	if h.wide() {
		return h.K()
	}
	return h.YMM()
}

// greater is a > b with signs.
func (h *textHeads) greater(a, b reg.Register) reg.Register {
	m := h.mask()
	if h.wide() {
		h.VPCMPQ(operand.U8(6), b, a, m)
	} else {
		h.VPCMPGTQ(b, a, m)
	}
	return m
}

// above is a > b of heads, in which AVX2 has the first bits turned round.
func (h *textHeads) above(a, b reg.Register) reg.Register {
	if !h.wide() {
		return h.greater(a, b)
	}
	m := h.mask()
	h.VPCMPUQ(operand.U8(6), b, a, m)
	return m
}

func (h *textHeads) equal(a, b reg.Register) reg.Register {
	m := h.mask()
	h.VPCMPEQQ(a, b, m)
	return m
}

// both, either and without are a & b, a | b and a &^ b of masks.
func (h *textHeads) both(a, b reg.Register) reg.Register {
	m := h.mask()
	if h.wide() {
		h.KANDB(a, b, m)
	} else {
		h.VPAND(a, b, m)
	}
	return m
}

func (h *textHeads) either(a, b reg.Register) reg.Register {
	m := h.mask()
	if h.wide() {
		h.KORB(a, b, m)
	} else {
		h.VPOR(a, b, m)
	}
	return m
}

func (h *textHeads) without(a, b reg.Register) reg.Register {
	m := h.mask()
	if h.wide() {
		h.KANDNB(a, b, m)
	} else {
		h.VPANDN(a, b, m)
	}
	return m
}

// words is a new register with the eight bytes after p at each place that the mask has,
// and zeros. It leaves the mask as it is.
func (h *textHeads) words(p reg.Register, places reg.Register, mask reg.Register) reg.VecVirtual {
	v, m := h.zero(), h.mask()
	if h.wide() {
		h.KMOVB(mask, m)
		h.VPGATHERQQ(operand.Mem{Base: p, Index: places, Scale: 1}, m, v)
	} else {
		h.VMOVDQA(mask, m)
		h.VPGATHERQQ(m, operand.Mem{Base: p, Index: places, Scale: 1}, v)
	}
	return v
}

// ahead asks for the two lines some way behind the first of eight texts, which is all
// of them if they are short. Zen 4 does not see by itself that what is gathered lies in
// order: 1e7 rows that began with two letters took 8.8 ms there, and take 3.9.
func (h *textHeads) ahead(offsets, data reg.Register) {
	p := h.GP64()
	if h.size == 4 {
		h.MOVLQSX(at(offsets, 0), p)
	} else {
		h.MOVQ(at(offsets, 0), p)
	}
	for _, lines := range []int{0, 1} {
		h.PREFETCHT0(operand.Mem{Base: data, Index: p, Scale: 1, Disp: 2048 + 64*lines})
	}
}

// store writes masks of eight texts as a byte of each dst.
func (h *textHeads) store(dst reg.Register, masks []reg.Register) {
	if h.wide() {
		h.KMOVB(masks[0], at(dst, 0))
		return
	}
	low, high := h.GP32(), h.GP32()
	h.VMOVMSKPD(masks[0], low)
	h.VMOVMSKPD(masks[1], high)
	h.SHLL(operand.U8(4), high)
	h.ORL(high, low)
	h.MOVB(low.As8(), at(dst, 0))
}

// parts runs body for the texts of each register of eight.
func (h *textHeads) parts(body func(i int)) {
	for i := 0; i < headRows; i += h.lanes() {
		body(i)
	}
}

func matchHeads(g *gen, size int) {
	bits := strconv.Itoa(8 * size)
	g.function("matchHeads"+bits, "(dst []byte, offsets, places []int"+bits+", data *byte, place, least, most int64, want, mask uint64)", `is
	for i := range 8 * len(dst) {
		length := offsets[i+1] - offsets[i]
		put bit i of dst: least <= length && length <= most && (8 bytes at data[places[i]+place] ^ want) & mask == 0
	}
with no byte read for a length that is not so.`)
	h := newHeads(g, size)
	dst, n, offsets, places := g.base("dst"), g.length("dst"), g.base("offsets"), g.base("places")
	data, least, most := g.Load(g.Param("data"), g.GP64()), h.every("least"), h.every("most")
	want, mask := h.every("want"), h.every("mask")
	g.ADDQ(g.Load(g.Param("place"), g.GP64()), data)
	g.count(n, func() {
		var masks []reg.Register
		h.parts(func(i int) {
			from, length := h.offsets(offsets, i), h.offsets(offsets, i+1)
			g.VPSUBQ(from, length, length)
			if g.wide() {
				fits := h.K()
				g.VPCMPQ(operand.U8(5), least, length, fits)
				g.VPCMPQ(operand.U8(2), most, length, fits, fits)
				v := h.words(data, h.offsets(places, i), fits)
				g.VPXORQ(want, v, v)
				g.VPTESTNMQ(mask, v, fits, fits)
				masks = append(masks, fits)
				return
			}
			out := h.either(h.greater(least, length), h.greater(length, most))
			all := g.allOnes()
			fits := h.without(all, out)
			v := h.words(data, h.offsets(places, i), fits)
			g.VPXOR(want, v, v)
			g.VPAND(mask, v, v)
			masks = append(masks, h.both(h.equal(v, h.zeros), fits))
		})
		h.ahead(places, data)
		h.store(dst, masks)
		g.advance(headRows*size, offsets, places)
		g.INCQ(dst)
	})
	g.leave()
}

// ordering is what makes heads of words: they order as texts do.
type ordering struct {
	skip    reg.VecVirtual
	reverse reg.VecVirtual // of bytes in words
	ones    reg.VecVirtual
}

func (h *textHeads) ordering() ordering {
	o := ordering{skip: h.every("skip"), ones: h.vector()}
	o.reverse = h.table(h.label("reverse"), []byte{7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8})
	if h.wide() {
		h.VPTERNLOGQ(operand.U8(0xff), o.ones, o.ones, o.ones)
	} else {
		h.VPCMPEQD(o.ones, o.ones, o.ones)
	}
	return o
}

// head is the texts' first eight bytes and lengths. data has skip added.
func (h *textHeads) head(o ordering, data, offsets reg.Register, i int) (head, length reg.VecVirtual) {
	from := h.offsets(offsets, i)
	length = h.offsets(offsets, i+1)
	h.VPSUBQ(from, length, length)
	h.VPSUBQ(o.skip, length, length)
	zero := h.zeros
	if h.wide() {
		zero = h.zero()
	}
	head = h.words(data, from, h.greater(length, zero))
	h.VPSHUFB(o.reverse, head, head)
	behind := h.vector() // ones for bytes that are not of the text
	h.VPSLLQ(operand.U8(3), length, behind)
	h.VPSRLVQ(behind, o.ones, behind)
	if h.wide() {
		h.VPANDNQ(head, behind, head)
	} else {
		h.VPANDN(head, behind, head)
		h.VPXOR(h.flip, head, head)
	}
	return head, length
}

func orderHeads(g *gen, size int) {
	bits := strconv.Itoa(8 * size)
	g.function("orderHeads"+bits, "(below, open []byte, offsets []int"+bits+", data *byte, skip int, want uint64, size int64)", `is
	for i := range 8 * len(below) {
		length := offsets[i+1] - offsets[i] - skip
		head := the first 8 of length bytes at data[offsets[i]+skip], big-endian, 0 for those behind
		put bit i of below: head < want || head == want && length < size
		put bit i of open: head == want && length >= size
	}
with no byte read for a length of 0 and less.`)
	h := newHeads(g, size)
	below, n, open, offsets := g.base("below"), g.length("below"), g.base("open"), g.base("offsets")
	data, want, limit, o := g.Load(g.Param("data"), g.GP64()), h.every("want"), h.every("size"), h.ordering()
	g.ADDQ(g.Load(g.Param("skip"), g.GP64()), data)
	if !g.wide() {
		g.VPXOR(h.flip, want, want)
	}
	g.count(n, func() {
		var less, more []reg.Register
		h.parts(func(i int) {
			head, length := h.head(o, data, offsets, i)
			alike := h.equal(head, want)
			short := h.both(alike, h.greater(limit, length))
			less = append(less, h.either(short, h.above(want, head)))
			more = append(more, h.without(alike, short))
		})
		h.ahead(offsets, data)
		h.store(below, less)
		h.store(open, more)
		g.advance(headRows*size, offsets)
		g.INCQ(below)
		g.INCQ(open)
	})
	g.leave()
}

func pairHeads(g *gen, size int) {
	bits := strconv.Itoa(8 * size)
	g.function("pairHeads"+bits, "(below, same, open []byte, a, b []int"+bits+", x, y *byte, skip int)", `is
	for i := range 8 * len(below) {
		v, k := head and length of text i of x by offsets a, as in orderHeads
		w, m := those of y by b
		put bit i of below: v < w || v == w && k < m
		put bit i of same: v == w && k == m
		put bit i of open: v == w && k > 8 && m > 8
	}
with no byte read for a length of 0 and less.`)
	h := newHeads(g, size)
	below, n, same, open := g.base("below"), g.length("below"), g.base("same"), g.base("open")
	a, b := g.base("a"), g.base("b")
	x, y, skip := g.Load(g.Param("x"), g.GP64()), g.Load(g.Param("y"), g.GP64()), g.Load(g.Param("skip"), g.GP64())
	g.ADDQ(skip, x)
	g.ADDQ(skip, y)
	o, eight := h.ordering(), g.everyQuad(8)
	g.count(n, func() {
		var less, equal, more []reg.Register
		h.parts(func(i int) {
			v, k := h.head(o, x, a, i)
			w, m := h.head(o, y, b, i)
			alike := h.equal(v, w)
			less = append(less, h.either(h.above(w, v), h.both(alike, h.greater(m, k))))
			equal = append(equal, h.both(alike, h.equal(k, m)))
			more = append(more, h.both(alike, h.both(h.greater(k, eight), h.greater(m, eight))))
		})
		h.ahead(a, x)
		h.ahead(b, y)
		h.store(below, less)
		h.store(same, equal)
		h.store(open, more)
		g.advance(headRows*size, a, b)
		g.INCQ(below)
		g.INCQ(same)
		g.INCQ(open)
	})
	g.leave()
}
