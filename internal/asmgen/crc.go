package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// crc makes the loop that takes 256 bytes a turn into four vectors, which hold as many
// that have the remainder of all before them: a turn multiplies them by what moves them
// on by 256 bytes and adds the next ones. At the end they are moved onto the last 16
// bytes, whose remainder the CRC instruction has. There is none of it for AVX2, where
// hash/crc32 multiplies in vectors of 16 bytes.
func crc(g *gen) {
	if !g.wide() {
		return
	}
	g.function("fold", "(p *byte, n int, sum uint32, powers *[6]uint64) uint32",
		`is the remainder of n bytes, a multiple of 256 and not 0, behind those whose
remainder is sum, neither inverted.`)
	p, n, powers := g.Load(g.Param("p"), g.GP64()), g.Load(g.Param("n"), g.GP64()), g.Load(g.Param("powers"), g.GP64())
	sum := g.Load(g.Param("sum"), g.GP32())
	first := g.XMM()
	g.VMOVD(sum, first)
	by := g.ZMM()
	g.VBROADCASTI32X4(at(powers, 0), by)
	var v, low [4]reg.VecVirtual
	for i := range v {
		v[i], low[i] = g.loaded(at(p, 64*i)), g.ZMM()
	}
	g.VPXORQ(first.AsZ(), v[0], v[0])
	turn, last := g.label("turn"), g.label("last")
	g.ADDQ(operand.U32(256), p)
	g.SUBQ(operand.U32(256), n)
	g.JZ(operand.LabelRef(last))
	g.Label(turn)
	for i := range v {
		g.VPCLMULQDQ(operand.U8(0x00), by, v[i], low[i])
	}
	for i := range v {
		g.VPCLMULQDQ(operand.U8(0x11), by, v[i], v[i])
	}
	for i := range v {
		g.VPTERNLOGQ(operand.U8(0x96), at(p, 64*i), low[i], v[i])
	}
	g.ADDQ(operand.U32(256), p)
	g.SUBQ(operand.U32(256), n)
	g.JNZ(operand.LabelRef(turn))
	g.Label(last)
	g.VBROADCASTI32X4(at(powers, 16), by)
	for i := range v[1:] {
		g.VPCLMULQDQ(operand.U8(0x00), by, v[i], low[0])
		g.VPCLMULQDQ(operand.U8(0x11), by, v[i], v[i])
		g.VPTERNLOGQ(operand.U8(0x96), v[i], low[0], v[i+1])
	}
	g.VBROADCASTI32X4(at(powers, 32), by)
	x := v[3].AsX()
	for i := 1; i < 4; i++ {
		next, high := g.XMM(), g.XMM()
		g.VEXTRACTI64X2(operand.U8(i), v[3], next)
		g.VPCLMULQDQ(operand.U8(0x00), by.AsX(), x, low[0].AsX())
		g.VPCLMULQDQ(operand.U8(0x11), by.AsX(), x, high)
		g.VPXOR(low[0].AsX(), high, high)
		g.VPXOR(high, next, next)
		x = next
	}
	rest, word := g.GP64(), g.GP64()
	g.XORL(rest.As32(), rest.As32())
	g.VMOVQ(x, word)
	g.CRC32Q(word, rest)
	g.VPEXTRQ(operand.U8(1), x, word)
	g.CRC32Q(word, rest)
	g.Store(rest.As32(), g.ReturnIndex(0))
	g.leave()
}
