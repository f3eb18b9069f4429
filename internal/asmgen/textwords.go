package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// textWords makes the loops that make words and hashes of short texts. A text is
// 16 bytes at a place of its own, which wider registers would have to gather. What
// AVX-512 has more is a load of as many bytes as the text has.
func textWords(g *gen) {
	textLoop(g, "32", "int32", 4)
	textLoop(g, "64", "int64", 8)
}

// The factors of the hash, as in kernels/cpu/keyhash.go.
const (
	mixA = 0xa0761d6478bd642f
	mixB = 0xe7037ed1a0b428db
)

func textLoop(g *gen, bits, name string, size int) {
	g.function("textWords"+bits, fmt.Sprintf("(words [][2]uint64, hashes []uint64, offsets []%s, bytes []byte, masks *[32]byte, slots *byte, shift uint64) (long uint64)", name), `is
	for j := range words {
		p := bytes[offsets[j]:][:16]
		size := offsets[j+1] - offsets[j]
		words[j] = the first size bytes of p, 0 up to the last, which is size
		hashes[j] = fold128(words[j][0]^mixA, words[j][1]^mixB)
		prefetch slots + 32*(hashes[j]>>shift)
	}
Bit 63 of long says that there was a size above 15; its words are undefined. masks
is 16 bytes of ones and then 16 of zeros, which AVX-512 does not use: it reads no byte
that is not of the text.`)
	words, hashes, offsets, bytes := g.base("words"), g.base("hashes"), g.base("offsets"), g.base("bytes")
	masks, n := g.Load(g.Param("masks"), g.GP64()), g.length("words")
	slots, shift := g.Load(g.Param("slots"), g.GP64()), g.Load(g.Param("shift"), g.GP64())
	a, b, long := g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(operand.U64(mixA), a)
	g.MOVQ(operand.U64(mixB), b)
	g.XORQ(long, long)
	g.advance(16, masks)
	offset := func(i int, to reg.Register) {
		if size == 4 {
			g.MOVLQSX(at(offsets, size*i), to)
		} else {
			g.MOVQ(at(offsets, size*i), to)
		}
	}
	g.count(n, func() {
		begin, length, left, text := g.GP64(), g.GP64(), g.GP64(), g.XMM()
		offset(0, begin)
		offset(1, length)
		if !g.wide() {
			g.VMOVDQU(operand.Mem{Base: bytes, Index: begin, Scale: 1}, text)
		}
		g.SUBQ(begin, length)
		g.MOVQ(operand.U32(15), left)
		g.SUBQ(length, left)
		g.ORQ(left, long)
		g.ANDQ(operand.U8(15), length)
		less := g.GP64()
		if g.wide() {
			k := g.K()
			g.MOVQ(operand.I32(-1), less)
			g.BZHIQ(length, less, less)
			g.KMOVW(less.As32(), k)
			g.VMOVDQU8_Z(operand.Mem{Base: bytes, Index: begin, Scale: 1}, k, text)
		} else {
			g.MOVQ(length, less)
			g.NEGQ(less)
			g.VPAND(operand.Mem{Base: masks, Index: less, Scale: 1}, text, text)
		}
		g.VPINSRB(operand.U8(15), length.As32(), text, text)
		g.VMOVDQU(text, at(words, 0))
		low, high := g.GP64(), g.GP64()
		g.VMOVQ(text, low)
		g.VPEXTRQ(operand.U8(1), text, high)
		g.XORQ(a, low)
		g.XORQ(b, high)
		g.MOVQ(low, reg.RDX)
		g.MULXQ(high, low, high)
		g.XORQ(low, high)
		g.MOVQ(high, at(hashes, 0))
		g.SHRXQ(shift, high, high)
		g.SHLQ(operand.U8(5), high)
		g.PREFETCHT0(operand.Mem{Base: slots, Index: high, Scale: 1})
		g.advance(16, words)
		g.advance(8, hashes)
		g.advance(size, offsets)
	})
	g.Store(long, g.ReturnIndex(0))
	g.leave()
}
