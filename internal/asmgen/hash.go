package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// hash makes the loops that hash numbers by XXH64 of their eight bytes.
func hash(g *gen) {
	for _, e := range elements {
		hashLoop(g, e)
	}
}

// hashStep is the values that a hash takes at a time: chains enough for the
// multiplications, each of which waits for the one before.
const hashStep = 32

// The primes of XXH64.
const (
	xxPrime1 = 0x9E3779B185EBCA87
	xxPrime2 = 0xC2B2AE3D27D4EB4F
	xxPrime3 = 0x165667B19E3779F9
	xxPrime4 = 0x85EBCA77C2B2AE63
	xxPrime5 = 0x27D4EB2F165667C5
)

// factor is a number to multiply by: on the AVX2 tier, which has no product of
// 64 bits, with its halves exchanged beside it.
type factor struct{ whole, high reg.VecVirtual }

func (g *gen) factor(v uint64) factor {
	f := factor{whole: g.everyQuad(v)}
	if !g.wide() {
		f.high = g.everyQuad(v >> 32)
	}
	return f
}

// times multiplies the quads of v.
func (g *gen) times(f factor, v reg.VecVirtual) {
	if g.wide() {
		g.VPMULLQ(f.whole, v, v)
		return
	}
	high, cross := g.vector(), g.vector()
	g.VPSRLQ(operand.U8(32), v, high)
	g.VPMULUDQ(f.whole, high, high)
	g.VPMULUDQ(f.high, v, cross)
	g.VPADDQ(cross, high, high)
	g.VPSLLQ(operand.U8(32), high, high)
	g.VPMULUDQ(f.whole, v, v)
	g.VPADDQ(high, v, v)
}

func (g *gen) rotateQuads(by uint8, v reg.VecVirtual) {
	if g.wide() {
		g.VPROLQ(operand.U8(by), v, v)
		return
	}
	t := g.vector()
	g.VPSLLQ(operand.U8(by), v, t)
	g.VPSRLQ(operand.U8(64-by), v, v)
	g.VPOR(t, v, v)
}

// foldQuads is v ^= v >> by.
func (g *gen) foldQuads(by uint8, v reg.VecVirtual) {
	t := g.vector()
	g.VPSRLQ(operand.U8(by), v, t)
	g.xor(t, v, v)
}

func hashLoop(g *gen, e element) {
	g.function("hash"+e.suffix, "(h []uint64, v []"+e.name+")", `is
	for i := range v {
		h[i] = XXH64 of v[i] as 64 bits, with the seed h[i]
	}
Integers are extended with their sign, floats are the bits of float64, of zeros
those of 0 and of NaN 0x7ff8000000000000. len(v) is a multiple of 32.`)
	h, v, n := g.base("h"), g.base("v"), g.length("v")
	primes := [4]factor{1: g.factor(xxPrime1), 2: g.factor(xxPrime2), 3: g.factor(xxPrime3)}
	start, fourth := g.everyQuad((xxPrime5+8)&(1<<64-1)), g.everyQuad(xxPrime4)
	var zero, nan reg.VecVirtual
	if e.kind == float {
		zero, nan = g.zero(), g.everyQuad(0x7ff8000000000000)
	}
	g.SHRQ(operand.U8(5), n)
	quads := g.bytes / 8
	g.count(n, func() {
		for i := 0; i < hashStep; i += quads {
			x := hashed(g, e, at(v, i*e.size), zero, nan)
			g.times(primes[2], x)
			g.rotateQuads(31, x)
			g.times(primes[1], x)
			sum := g.vector()
			g.VPADDQ(at(h, 8*i), start, sum)
			g.xor(sum, x, x)
			g.rotateQuads(27, x)
			g.times(primes[1], x)
			g.VPADDQ(fourth, x, x)
			g.foldQuads(33, x)
			g.times(primes[2], x)
			g.foldQuads(29, x)
			g.times(primes[3], x)
			g.foldQuads(32, x)
			g.store(x, at(h, 8*i))
		}
		g.advance(8*hashStep, h)
		g.advance(hashStep*e.size, v)
	})
	g.leave()
}

// hashed is a new register with what is hashed of some values.
func hashed(g *gen, e element, from operand.Mem, zero, nan reg.VecVirtual) reg.VecVirtual {
	if e.kind != float {
		return widened(g, e, from, nil)
	}
	x := g.vector()
	if e.size == 4 {
		g.VCVTPS2PD(from, x)
	} else {
		g.load(from, x)
	}
	const unordered, unequal = 3, 4
	if g.wide() {
		k, not := g.K(), g.K()
		g.VCMPPD(operand.U8(unequal), zero, x, k)
		g.VMOVDQA64_Z(x, k, x)
		g.VCMPPD(operand.U8(unordered), x, x, not)
		g.VMOVDQA64(nan, not, x)
		return x
	}
	m := g.vector()
	g.VCMPPD(operand.U8(unordered), x, x, m)
	g.VPBLENDVB(m, nan, x, x)
	g.VCMPPD(operand.U8(unequal), zero, x, m)
	g.VPAND(m, x, x)
	return x
}
