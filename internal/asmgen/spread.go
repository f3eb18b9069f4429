package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	// spreadAhead is how many steps ahead lines are asked for: of sixteen columns they
	// are 32 KiB, of the second-level cache.
	spreadAhead = 32
	// spreadPlaces is how many steps ahead the places are asked for that a square goes to.
	// Stores come to the cache in their order: one to a line that is not there makes all
	// behind it wait.
	spreadPlaces = 2
	// spreadFew is the least number of marked rows of sixteen for which a square is
	// turned; fewer are gathered one by one.
	spreadFew = 5
)

// spreadLoop makes the loop that lays the marked rows of columns into places, for
// registers of sixteen words only.
func spreadLoop(g *gen) {
	if !g.wide() {
		return
	}
	f := reals[0]
	n := g.lanesOf(f)
	g.function("spread", "(to []uint32, stride int, places []uint32, from []*uint32, mask []uint16, columns, steps int)", fmt.Sprintf(`is
	for i := range steps * 16 {
		for c := range columns {
			if mask[i/16]>>(i%%16)&1 != 0 {
				to[int(places[i])*stride+c] = *(from[c] + i)
			}
		}
	}
but rows that are not marked may be written to their places too. There are %d columns to
read, of which columns, 1 to %d, are written, and %d elements more of mask than steps.`, n, n, spreadAhead))
	to, places, from, mask := g.base("to"), g.base("places"), g.base("from"), g.base("mask")
	stride := g.scaled(f, g.Load(g.Param("stride"), g.GP64()))
	there := g.ones(n, g.Load(g.Param("columns"), g.GP64()))
	steps := g.Load(g.Param("steps"), g.GP64())
	low, high := g.ZMM(), g.ZMM() // where the columns begin
	g.VMOVDQU64(at(from, 0), low)
	g.VMOVDQU64(at(from, 64), high)
	row := g.GP64() // bytes from there
	g.XORQ(row, row)

	ask := func(steps int) {
		marked, pointer, skip := g.GP64(), g.GP64(), g.label("skip")
		g.MOVWLZX(at(mask, 2*steps), marked.As32())
		g.TESTL(marked.As32(), marked.As32())
		g.JZ(operand.LabelRef(skip))
		for c := range n {
			g.MOVQ(at(from, 8*c), pointer)
			g.PREFETCHT1(operand.Mem{Base: pointer, Index: row, Scale: 1, Disp: 64 * steps})
		}
		g.Label(skip)
	}
	for k := range spreadAhead {
		ask(k)
	}

	marked, few, place, pointer := g.GP64(), g.GP64(), g.GP64(), g.GP64()
	store := func(values reg.VecVirtual) {
		g.IMULQ(stride, place)
		g.VMOVUPS(values, there, operand.Mem{Base: to, Index: place, Scale: 1})
	}
	soon := func() {
		skip := g.label("soon")
		g.CMPQ(steps, operand.U8(spreadPlaces))
		g.JBE(operand.LabelRef(skip))
		g.MOVWLZX(at(mask, 2*spreadPlaces), marked.As32())
		g.POPCNTL(marked.As32(), few.As32())
		g.CMPL(few.As32(), operand.U8(spreadFew))
		g.JB(operand.LabelRef(skip))
		for i := range n {
			g.MOVL(at(places, 4*(n*spreadPlaces+i)), place.As32())
			g.IMULQ(stride, place)
			g.PREFETCHT0(operand.Mem{Base: to, Index: place, Scale: 1})
		}
		g.Label(skip)
	}
	g.count(steps, func() {
		next, one, square := g.label("next"), g.label("one"), g.label("square")
		ask(spreadAhead)
		soon()
		g.MOVWLZX(at(mask, 0), marked.As32())
		g.TESTL(marked.As32(), marked.As32())
		g.JZ(operand.LabelRef(next))
		g.POPCNTL(marked.As32(), few.As32())
		g.CMPL(few.As32(), operand.U8(spreadFew))
		g.JAE(operand.LabelRef(square))

		i, base := g.GP64(), g.GP64()
		all, rest := g.K(), g.K()
		values, more := g.ZMM(), g.ZMM()
		g.Label(one)
		g.TZCNTL(marked.As32(), i.As32())
		g.MOVL(operand.Mem{Base: places, Index: i, Scale: 4}, place.As32())
		g.LEAQ(operand.Mem{Base: row, Index: i, Scale: 4}, base)
		g.KXNORW(all, all, all)
		g.KXNORW(rest, rest, rest)
		g.VPXORD(values, values, values)
		g.VPXORD(more, more, more)
		g.VPGATHERQD(operand.Mem{Base: base, Index: low, Scale: 1}, all, values.AsY())
		g.VPGATHERQD(operand.Mem{Base: base, Index: high, Scale: 1}, rest, more.AsY())
		g.VINSERTI64X4(operand.U8(1), more.AsY(), values, values)
		store(values)
		g.BLSRL(marked.As32(), marked.As32())
		g.JNZ(operand.LabelRef(one))
		g.JMP(operand.LabelRef(next))

		g.Label(square)
		lines := make([]reg.VecVirtual, n)
		for c := range lines {
			lines[c] = g.vector()
			g.MOVQ(at(from, 8*c), pointer)
			g.move(f, operand.Mem{Base: pointer, Index: row, Scale: 1}, lines[c])
		}
		for i, values := range g.square(f, lines) {
			g.MOVL(at(places, 4*i), place.As32())
			store(values)
		}

		g.Label(next)
		g.advance(g.bytes, places, row)
		g.advance(2, mask)
	})
	g.leave()
}
