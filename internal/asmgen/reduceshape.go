package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The sums of floats in the shape of kernels.ReduceFunc: blocks of 512 values in
// eight lanes, which are one wide register or two.

// eight is the lanes of a block.
type eight []reg.VecVirtual

func (g *gen) eight() eight {
	e := eight{g.zero()}
	if !g.wide() {
		e = append(e, g.zero())
	}
	return e
}

// joined is ((0+4)+(2+6)) + ((1+5)+(3+7)).
func (g *gen) joined(e eight) reg.VecVirtual {
	y := e[0].AsY().(reg.VecVirtual)
	half, x := g.YMM(), g.XMM()
	if g.wide() {
		g.VEXTRACTF64X4(operand.U8(1), e[0], half)
		g.VADDPD(half, y, y)
	} else {
		g.VADDPD(e[1], y, y)
	}
	g.VEXTRACTF128(operand.U8(1), y, x)
	low := y.AsX().(reg.VecVirtual)
	g.VADDPD(x, low, low)
	g.VPERMILPD(operand.U8(1), low, x)
	g.VADDSD(x, low, low)
	return low
}

const blockRows, blockStep = 512, 64

// blockLoop runs body over the values of each block, some at a time, and end
// after each.
func (g *gen) blockLoop(blocks, v, bitmap reg.Register, begin func(), body func(from operand.Mem, row int), end func()) {
	g.count(blocks, func() {
		begin()
		steps := g.GP64()
		g.MOVQ(operand.U64(blockRows/blockStep), steps)
		g.count(steps, func() {
			for row := 0; row < blockStep; row += g.bytes / 8 {
				g.ahead(v, row*8)
				body(at(v, row*8), row)
			}
			g.advance(8*blockStep, v)
			if bitmap != nil {
				g.advance(blockStep/8, bitmap)
			}
		})
		end()
	})
}

func sumBlocksLoop(g *gen, valid bool) {
	name, param := "sumBlocks", ""
	if valid {
		name, param = "sumBlocksValid", ", valid []byte"
	}
	g.function(name, "(dst, v []float64"+param+")", `sums len(dst) blocks of 512 values of v, each in eight lanes
that are joined as kernels.ReduceFunc says.`)
	dst, n, v := g.base("dst"), g.length("dst"), g.base("v")
	var bitmap reg.Register
	var sel bitSelectors
	if valid {
		bitmap, sel = g.base("valid"), g.bitsFor(8)
	}
	sums := g.eight()
	g.blockLoop(n, v, bitmap, func() {
		for _, s := range sums {
			g.xor(s, s, s)
		}
	}, func(from operand.Mem, row int) {
		s := sums[row*8/g.bytes%len(sums)]
		switch {
		case !valid:
			g.VADDPD(from, s, s)
		case g.wide():
			g.VADDPD(from, s, g.laneBits(8, bitmap, row), s)
		default: // adding 0 changes nothing: no lane is ever -0
			m := g.laneMask(sel, 8, bitmap, row)
			g.VANDPD(from, m, m)
			g.VADDPD(m, s, s)
		}
	}, func() {
		g.VMOVSD(g.joined(sums), at(dst, 0))
		g.advance(8, dst)
	})
	g.leave()
}

func deviateBlocksLoop(g *gen, valid bool) {
	name, param := "deviateBlocks", ""
	if valid {
		name, param = "deviateBlocksValid", ", valid []byte"
	}
	g.function(name, "(d, q, v []float64"+param+", mean float64)", `sums, for len(d) blocks of 512 values of v, the differences from
the mean to d and their squares to q, each in eight lanes that are joined as
kernels.ReduceFunc says.`)
	d, n, q, v := g.base("d"), g.length("d"), g.base("q"), g.base("v")
	var bitmap reg.Register
	var sel bitSelectors
	if valid {
		bitmap, sel = g.base("valid"), g.bitsFor(8)
	}
	mean := g.vector()
	x := g.XMM()
	g.Load(g.Param("mean"), x)
	g.VBROADCASTSD(x, mean)
	ds, qs := g.eight(), g.eight()
	g.blockLoop(n, v, bitmap, func() {
		for i := range ds {
			g.xor(ds[i], ds[i], ds[i])
			g.xor(qs[i], qs[i], qs[i])
		}
	}, func(from operand.Mem, row int) {
		i := row * 8 / g.bytes % len(ds)
		e, square := g.vector(), g.vector()
		g.load(from, e)
		g.VSUBPD(mean, e, e)
		if valid && g.wide() {
			k := g.laneBits(8, bitmap, row)
			g.VADDPD(e, ds[i], k, ds[i])
			g.VMULPD(e, e, square)
			g.VADDPD(square, qs[i], k, qs[i])
			return
		}
		if valid {
			g.VANDPD(g.laneMask(sel, 8, bitmap, row), e, e)
		}
		g.VMULPD(e, e, square)
		g.VADDPD(e, ds[i], ds[i])
		g.VADDPD(square, qs[i], qs[i])
	}, func() {
		g.VMOVSD(g.joined(ds), at(d, 0))
		g.VMOVSD(g.joined(qs), at(q, 0))
		g.advance(8, d, q)
	})
	g.leave()
}
