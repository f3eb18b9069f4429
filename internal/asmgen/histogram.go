package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// histogram makes the loops that count words by some of their bits.
func histogram(g *gen) {
	histogramLoop(g, histogramOf{"", "uint64", 64, false})
	histogramLoop(g, histogramOf{"Hashes", "uint64", 64, true})
	histogramLoop(g, histogramOf{"Pairs", "uint64", 128, false})
	histogramLoop(g, histogramOf{"32", "uint32", 32, false})
}

// histogramOf is a kind of words.
type histogramOf struct {
	suffix string
	typ    string
	bytes  int // of eight
	hashed bool
}

const (
	// histogramTables is how many tables words are counted in by turns.
	histogramTables = 4
	// histogramStep is how many words are counted at a time.
	histogramStep = 16
)

func histogramLoop(g *gen, o histogramOf) {
	word, each, rest := "words[i]", "i := range words", "len(words) is a multiple of 16."
	base := "base, "
	switch o.suffix {
	case "Hashes":
		word = "(w ^ w>>32) * hashFactor where w is words[i]"
	case "Pairs":
		word, each = "words[2*i]", "i := range len(words)/2"
		rest = "len(words) is a multiple of 32."
	case "32":
		base = ""
	}
	doc := "is\n\tfor " + each + ` {
		counts[i%4*apart + w>>shift&mask]++
	}
where w is ` + word
	if base != "" {
		doc += " less base"
	}
	doc += `, or any other i%4 of as many words. mask is below 2^32, and
apart may be 0. Memory is asked for ahead of words, so many bytes. ` + rest
	g.function("histogram"+o.suffix, "(counts []uint32, apart int, words []"+o.typ+", "+base+"shift, mask uint64, ahead int)", doc)
	words, n := g.base("words"), g.length("words")
	shift, mask, from, factor := g.XMM(), g.vector(), reg.VecVirtual(nil), factor{}
	g.VMOVQ(g.Load(g.Param("shift"), g.GP64()), shift)
	every := func(param string) reg.VecVirtual {
		v, x := g.vector(), g.XMM()
		g.VMOVQ(g.Load(g.Param(param), g.GP64()), x)
		if o.bytes == 32 {
			g.VPBROADCASTD(x, v)
		} else {
			g.VPBROADCASTQ(x, v)
		}
		return v
	}
	mask = every("mask")
	if base != "" {
		from = every("base")
	}
	if o.hashed {
		factor = g.factor(hashFactor)
	}
	ahead := g.Load(g.Param("ahead"), g.GP64())
	tables := make([]reg.Register, histogramTables)
	apart := g.Load(g.Param("apart"), g.GP64())
	for k := range tables {
		if k == 0 {
			tables[k] = g.base("counts")
			continue
		}
		tables[k] = g.GP64()
		g.LEAQ(operand.Mem{Base: tables[k-1], Index: apart, Scale: 4}, tables[k])
	}
	switch o.bytes {
	case 128:
		g.SHRQ(operand.U8(5), n)
	default:
		g.SHRQ(operand.U8(4), n)
	}
	g.count(n, func() {
		bytes := o.bytes * histogramStep / 8
		for b := 0; b < bytes; b += 64 {
			g.PREFETCHT0(operand.Mem{Base: words, Index: ahead, Scale: 1, Disp: b})
		}
		step := g.bytes
		if o.bytes == 128 {
			step *= 2
		}
		for b := 0; b < bytes; b += step {
			v := g.loaded(at(words, b))
			if o.bytes == 128 {
				g.VPUNPCKLQDQ(at(words, b+g.bytes), v, v)
			}
			if base != "" {
				g.VPSUBQ(from, v, v)
			}
			if o.hashed {
				g.foldQuads(32, v)
				g.times(factor, v)
			}
			if o.bytes == 32 {
				g.VPSRLD(shift, v, v)
			} else {
				g.VPSRLQ(shift, v, v)
			}
			g.and(mask, v, v)
			g.histogramDigits(v, o.bytes != 32, tables)
		}
		g.advance(bytes, words)
	})
	g.leave()
}

// histogramDigits counts the digits of a vector, of 64 bits each if quads, else of 32.
func (g *gen) histogramDigits(v reg.VecVirtual, quads bool, tables []reg.Register) {
	low := v
	if g.wide() && quads {
		low = g.YMM()
		g.VPMOVQD(v, low)
		quads = false
	}
	parts := []reg.Register{low.AsX()}
	for lane := 1; lane < 2 || g.wide() && low == v && lane < 4; lane++ {
		x := g.XMM()
		if lane == 1 {
			g.VEXTRACTI128(operand.U8(1), low.AsY(), x)
		} else {
			g.VEXTRACTI32X4(operand.U8(lane), v, x)
		}
		parts = append(parts, x)
	}
	turn := 0
	add := func(digit reg.Register) {
		g.INCL(operand.Mem{Base: tables[turn%len(tables)], Index: digit, Scale: 4})
		turn++
	}
	for _, x := range parts {
		for half := range 2 {
			digits := g.GP64()
			if half == 0 {
				g.VMOVQ(x, digits)
			} else {
				g.VPEXTRQ(operand.U8(1), x, digits)
			}
			if !quads {
				first := g.GP64()
				g.MOVL(digits.As32(), first.As32())
				add(first)
				g.SHRQ(operand.U8(32), digits)
			}
			add(digits)
		}
	}
}
