package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// marks makes the loop that finds what delimited text is cut by, 64 bytes at a step: a
// word of bits for each of the bytes that are looked for.
func marks(g *gen) {
	g.function("marks", "(to [][4]uint64, text []byte, delim byte) (high uint64)", `is
	for i, c := range text {
		put bit i%64 of to[i/64][quotes]: c == '"'
		of [stops]: c == delim || c == '\n'
		of [lines]: c == '\n'
		of [returns]: c == '\r'
		high |= c >> 7
	}
but that high has any bit for true. len(text) is 64*len(to).`)
	to, n, text := g.base("to"), g.length("to"), g.base("text")
	delim := g.everyByte("delim")
	quote, line, back, high := g.each8('"'), g.each8('\n'), g.each8('\r'), g.zero()
	g.count(n, func() {
		for i, find := range [][]reg.VecVirtual{{quote}, {delim, line}, {line}, {back}} {
			g.MOVQ(g.found(text, find), at(to, 8*i))
		}
		for b := 0; b < 64; b += g.bytes {
			if g.wide() {
				g.VPORQ(at(text, b), high, high)
			} else {
				g.VPOR(at(text, b), high, high)
			}
		}
		g.advance(32, to)
		g.advance(64, text)
	})
	out := g.GP64()
	if g.wide() {
		k := g.K()
		g.VPMOVB2M(high, k)
		g.KMOVQ(k, out)
	} else {
		g.VPMOVMSKB(high, out.As32())
	}
	g.Store(out, g.ReturnIndex(0))
	g.leave()
}

// found is the word of bits that says which of 64 bytes are one of those that registers are
// full of.
func (g *gen) found(text reg.Register, any []reg.VecVirtual) reg.GPVirtual {
	word := g.GP64()
	if g.wide() {
		k := g.K()
		g.VPCMPEQB(at(text, 0), any[0], k)
		for _, v := range any[1:] {
			more := g.K()
			g.VPCMPEQB(at(text, 0), v, more)
			g.KORQ(more, k, k)
		}
		g.KMOVQ(k, word)
		return word
	}
	for half := 0; half < 64; half += g.bytes {
		at0 := at(text, half)
		m := g.vector()
		g.VPCMPEQB(at0, any[0], m)
		for _, v := range any[1:] {
			more := g.vector()
			g.VPCMPEQB(at0, v, more)
			g.VPOR(more, m, m)
		}
		if half == 0 {
			g.VPMOVMSKB(m, word.As32())
			continue
		}
		upper := g.GP64()
		g.VPMOVMSKB(m, upper.As32())
		g.SHLQ(operand.U8(32), upper)
		g.ORQ(upper, word)
	}
	return word
}

// each8 is a new vector register of which each byte is b.
func (g *gen) each8(b byte) reg.VecVirtual {
	t, word, x := g.vector(), g.GP32(), g.XMM()
	g.MOVL(operand.U32(b), word)
	g.VMOVD(word, x)
	g.VPBROADCASTB(x, t)
	return t
}
