package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// feistel makes the loop that puts numbers through a permutation's network: a turn takes
// two vectors, as halves left and right of their numbers. A network lies in memory as
// right, mask, low and pairs, and from byte 32 on rounds of key, c, upper and sum.
func feistel(g *gen) {
	g.function("once", "(x *int64, n int, net *uint64)", `is Permutation.once of n numbers from x on, by the words of a network;
n is a multiple of step.`)
	x, n, net := g.Load(g.Param("x"), g.GP64()), g.Load(g.Param("n"), g.GP64()), g.Load(g.Param("net"), g.GP64())
	shift, mask, low := g.XMM(), g.vector(), g.vector()
	g.VMOVQ(at(net, 0), shift)
	g.VPBROADCASTQ(at(net, 8), mask)
	g.VPBROADCASTQ(at(net, 16), low)
	g.SHRQ(operand.U8(map[bool]int{false: 3, true: 4}[g.wide()]), n)
	g.count(n, func() {
		var left, right [2]reg.VecVirtual
		for i := range left {
			left[i], right[i] = g.vector(), g.loaded(at(x, i*g.bytes))
			g.VPSRLQ(shift, right[i], left[i])
			g.and(low, right[i], right[i])
		}
		pairs, rounds := g.GP64(), g.GP64()
		g.MOVQ(at(net, 24), pairs)
		g.LEAQ(at(net, 32), rounds)
		pair := g.label("pair")
		g.Label(pair)
		g.feistelRound(at(rounds, 0), left, right, mask)
		g.feistelRound(at(rounds, 32), right, left, low)
		g.advance(64, rounds)
		g.DECQ(pairs)
		g.JNZ(operand.LabelRef(pair))
		for i := range left {
			g.VPSLLQ(shift, left[i], left[i])
			g.or(right[i], left[i], left[i])
			g.store(left[i], at(x, i*g.bytes))
		}
		g.advance(2*g.bytes, x)
	})
	g.leave()
}

// feistelRound adds to each of to what a round makes of the other half.
func (g *gen) feistelRound(round operand.Mem, to, from [2]reg.VecVirtual, mask reg.VecVirtual) {
	var words [4]reg.VecVirtual
	for i := range words {
		words[i] = g.vector()
		g.VPBROADCASTQ(round.Offset(8*i), words[i])
	}
	key, c, upper, sum := words[0], words[1], words[2], words[3]
	for i := range to {
		t, u, carry := g.vector(), g.vector(), g.vector()
		g.xor(key, from[i], t)
		g.VPMULUDQ(upper, t, u)
		g.VPMULUDQ(c, t, t)
		g.VPADDQ(sum, u, u)
		g.VPSRLQ(operand.U8(32), t, carry)
		g.VPADDQ(carry, u, u)
		g.VPSRLQ(operand.U8(32), u, u)
		if g.wide() {
			g.VPTERNLOGQ(operand.U8(0x28), mask, t, u)
		} else {
			g.xor(t, u, u)
			g.and(mask, u, u)
		}
		g.xor(u, to[i], to[i])
	}
}
