package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// bitsLoops makes the loops that take numbers of up to 24 bits apart, a vector
// register of them at a time: the words that have the four numbers of each 16 bytes
// are brought there, then the four bytes that have each number to its place, where
// it is shifted to the end and cut off.
func bitsLoops(g *gen) {
	bitsLoop(g, "unpack", "", "x", func() func(indices reg.VecVirtual, to reg.Register) {
		return func(indices reg.VecVirtual, to reg.Register) { g.store(indices, at(to, 0)) }
	})
	if g.wide() {
		return // of what looks up, the loads and stores are the limit
	}
	bitsLoop(g, "lookUp", "table []uint32, ", "table[x]", func() func(indices reg.VecVirtual, to reg.Register) {
		table, places := g.base("table"), g.AllocLocal(g.bytes)
		return func(indices reg.VecVirtual, to reg.Register) { g.each(indices, table, places, to) }
	})
}

// aheadSteps is how many steps of eight numbers beyond the one at hand are asked for:
// those that are looked up next of this column, after a block of 256 of each other.
const aheadSteps = 32

// shapeBytes is the size of the shape of a width: words, bytes, shifts and masks of 64
// bytes each, and how many bytes sixteen numbers have.
const shapeBytes = 4*64 + 8

// bitsLoop makes one; use gives what stores what becomes of a register of numbers.
func bitsLoop(g *gen, name, params, value string, use func() func(indices reg.VecVirtual, to reg.Register)) {
	lanes := g.bytes / 4
	g.function(name, fmt.Sprintf("(to []uint32, %sb []byte, s *[%d]byte) (largest uint32)", params, shapeBytes), fmt.Sprintf(`is
	for i := range to {
		x := b[i*width/8:] >> (i*width%%8) & (1<<width-1)
		to[i] = %s
		largest = max(largest, x)
	}
of the width that s is the shape of. len(to) is a multiple of %d; the last %d numbers
have %d bytes from their first on.`, value, lanes, lanes, g.bytes))
	to, n, b := g.base("to"), g.length("to"), g.base("b")
	s := g.Load(g.Param("s"), g.GP64())
	words, bytes, shifts, mask := g.loaded(at(s, 0)), g.loaded(at(s, 64)), g.loaded(at(s, 128)), g.loaded(at(s, 192))
	step := g.GP64()
	g.MOVQ(at(s, 256), step)
	if !g.wide() {
		g.SHRQ(operand.U8(1), step)
	}
	most, put := g.zero(), use()
	var ahead reg.GPVirtual
	if name == "lookUp" {
		ahead = g.GP64()
		g.MOVQ(step, ahead)
		g.SHLQ(operand.U8(shiftOf(aheadSteps)), ahead)
	}
	g.SHRQ(operand.U8(shiftOf(lanes)), n)
	g.count(n, func() {
		if ahead != nil {
			g.PREFETCHT0(operand.Mem{Base: b, Index: ahead, Scale: 1})
		}
		v := g.vector()
		g.VPERMD(at(b, 0), words, v)
		g.VPSHUFB(bytes, v, v)
		g.VPSRLVD(shifts, v, v)
		if g.wide() {
			g.VPANDD(mask, v, v)
		} else {
			g.VPAND(mask, v, v)
		}
		g.VPMAXUD(v, most, most)
		put(v, to)
		g.ADDQ(step, b)
		g.advance(g.bytes, to)
	})
	low, high := g.XMM(), g.XMM()
	if g.wide() {
		half := g.YMM()
		g.VEXTRACTI64X4(operand.U8(1), most, half)
		g.VPMAXUD(half, most.AsY(), half)
		g.VEXTRACTI128(operand.U8(1), half, high)
		g.VPMAXUD(half.AsX(), high, low)
	} else {
		g.VEXTRACTI128(operand.U8(1), most, high)
		g.VPMAXUD(most.AsX(), high, low)
	}
	for _, order := range []uint8{0x4e, 0xb1} {
		other := g.XMM()
		g.VPSHUFD(operand.U8(order), low, other)
		g.VPMAXUD(other, low, low)
	}
	largest := g.GP32()
	g.VMOVD(low, largest)
	g.Store(largest, g.ReturnIndex(0))
	g.leave()
}

// each looks every number up: by way of memory, two at a load. The instruction that
// gathers is faster for wide numbers here and slower for narrow ones, and many times
// slower where processors are kept from telling by it what others have read.
func (g *gen) each(indices reg.VecVirtual, table reg.Register, places operand.Mem, to reg.Register) {
	g.store(indices, places)
	for i := 0; i < g.bytes/4; i += 2 {
		first, second := g.GP64(), g.GP64()
		g.MOVQ(places.Offset(4*i), second)
		g.MOVL(second.As32(), first.As32())
		g.SHRQ(operand.U8(32), second)
		for k, x := range []reg.GPVirtual{first, second} {
			g.MOVL(operand.Mem{Base: table, Index: x, Scale: 4}, x.As32())
			g.MOVL(x.As32(), at(to, 4*(i+k)))
		}
	}
}
