package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// turnLoops makes the loops that turn rows of a matrix into columns, a square
// of as many rows as a vector register has elements at a time: neighbouring
// rows are interleaved in pairs within 16 bytes, then pairs of those, then the
// 16-byte lanes are sorted.
func turnLoops(g *gen) {
	for _, f := range reals {
		interleave(g, f)
		dots(g, f)
	}
}

func interleave(g *gen, f real) {
	n := g.lanesOf(f)
	g.function("interleave"+f.name, fmt.Sprintf("(to []%[1]s, width int, from []%[1]s, line, lines, depth int)", f.of), fmt.Sprintf(`is
	for k := range depth {
		for r := range lines {
			to[k*width+r] = from[r*line+k]
		}
	}
depth is a multiple of %[1]d, lines 1 to %[1]d; of each %[1]d elements from to[k*width]
on, those past lines hold what is of no use.`, n))
	to, from, depth := g.base("to"), g.base("from"), g.Load(g.Param("depth"), g.GP64())
	width := g.scaled(f, g.Load(g.Param("width"), g.GP64()))
	line := g.scaled(f, g.Load(g.Param("line"), g.GP64()))
	lines := g.Load(g.Param("lines"), g.GP64())
	g.SHRQ(operand.U8(shiftOf(n)), depth)
	g.count(depth, func() {
		for _, column := range g.square(f, g.rows(f, from, line, lines)) {
			g.move(f, column, at(to, 0))
			g.ADDQ(width, to)
		}
		g.advance(g.bytes, from)
	})
	g.leave()
}

func dots(g *gen, f real) {
	n := g.lanesOf(f)
	g.function("dots"+f.name, fmt.Sprintf("(sums, from []%[1]s, line, lines int, x []%[1]s)", f.of), fmt.Sprintf(`is
	for k := range x {
		for r := range lines {
			sums[r] = fma(from[r*line+k], x[k], sums[r])
		}
	}
len(x) is a multiple of %[1]d, lines 1 to %[1]d, sums %[1]d elements, of which those past
lines hold what is of no use.`, n))
	sums, from, x := g.base("sums"), g.base("from"), g.base("x")
	depth := g.length("x")
	line := g.scaled(f, g.Load(g.Param("line"), g.GP64()))
	lines := g.Load(g.Param("lines"), g.GP64())
	sum := g.vector()
	g.move(f, at(sums, 0), sum)
	g.SHRQ(operand.U8(shiftOf(n)), depth)
	g.count(depth, func() {
		for k, column := range g.square(f, g.rows(f, from, line, lines)) {
			v := g.vector()
			g.repeat(f, at(x, k*f.bytes), v)
			g.fma(f, column, v, sum)
		}
		g.advance(g.bytes, from, x)
	})
	g.move(f, sum, at(sums, 0))
	g.leave()
}

func shiftOf(n int) int {
	k := 0
	for ; n > 1; n /= 2 {
		k++
	}
	return k
}

// rows loads a register of each row; of rows that are not there, the last.
func (g *gen) rows(f real, from, line, lines reg.Register) []reg.VecVirtual {
	p, next, none := g.GP64(), g.GP64(), g.GP64()
	g.MOVQ(from, p)
	g.XORQ(none, none)
	v := make([]reg.VecVirtual, g.lanesOf(f))
	for r := range v {
		v[r] = g.vector()
		g.move(f, at(p, 0), v[r])
		if r+1 < len(v) {
			g.MOVQ(line, next)
			g.CMPQ(lines, operand.U8(r+1))
			g.CMOVQLE(none, next)
			g.ADDQ(next, p)
		}
	}
	return v
}

// square turns rows into columns.
func (g *gen) square(f real, rows []reg.VecVirtual) []reg.VecVirtual {
	inner := 16 / f.bytes // columns within 16 bytes
	lanes := len(rows) / inner
	groups := make([][]reg.VecVirtual, 0, lanes) // group j, register c: column L*inner+c of rows j*inner on, in lane L
	for j := range lanes {
		groups = append(groups, g.turnLanes(f, rows[j*inner:][:inner]))
	}
	columns := make([]reg.VecVirtual, len(rows))
	for c := range inner {
		parts := make([]reg.VecVirtual, lanes)
		for j := range parts {
			parts[j] = groups[j][c]
		}
		for l, v := range g.sortLanes(parts) {
			columns[l*inner+c] = v
		}
	}
	return columns
}

// turnLanes turns the squares within each 16 bytes.
func (g *gen) turnLanes(f real, v []reg.VecVirtual) []reg.VecVirtual {
	pairs := func(a, b reg.VecVirtual) (low, high reg.VecVirtual) {
		low, high = g.like(a), g.like(a)
		g.VUNPCKLPD(b, a, low)
		g.VUNPCKHPD(b, a, high)
		return low, high
	}
	if f.bytes == 8 {
		low, high := pairs(v[0], v[1])
		return []reg.VecVirtual{low, high}
	}
	single := func(a, b reg.VecVirtual) (low, high reg.VecVirtual) {
		low, high = g.like(a), g.like(a)
		g.VUNPCKLPS(b, a, low)
		g.VUNPCKHPS(b, a, high)
		return low, high
	}
	low0, high0 := single(v[0], v[1])
	low1, high1 := single(v[2], v[3])
	c0, c1 := pairs(low0, low1)
	c2, c3 := pairs(high0, high1)
	return []reg.VecVirtual{c0, c1, c2, c3}
}

// like is a new register as wide as another.
func (g *gen) like(v reg.VecVirtual) reg.VecVirtual {
	switch v.Size() {
	case 16:
		return g.XMM()
	case 32:
		return g.YMM()
	default:
		return g.ZMM()
	}
}

// sortLanes gives register l lane l of each part.
func (g *gen) sortLanes(parts []reg.VecVirtual) []reg.VecVirtual {
	switch len(parts) {
	case 1:
		return parts
	case 2:
		low, high := g.YMM(), g.YMM()
		if g.wide() { // any of the 32 registers
			g.VSHUFF64X2(operand.U8(0), parts[1], parts[0], low)
			g.VSHUFF64X2(operand.U8(3), parts[1], parts[0], high)
			return []reg.VecVirtual{low, high}
		}
		g.VPERM2F128(operand.U8(0x20), parts[1], parts[0], low)
		g.VPERM2F128(operand.U8(0x31), parts[1], parts[0], high)
		return []reg.VecVirtual{low, high}
	}
	even := func(a, b reg.VecVirtual) reg.VecVirtual { // lanes 0 and 2 of each
		v := g.vector()
		g.VSHUFF64X2(operand.U8(0x88), b, a, v)
		return v
	}
	odd := func(a, b reg.VecVirtual) reg.VecVirtual { // lanes 1 and 3 of each
		v := g.vector()
		g.VSHUFF64X2(operand.U8(0xdd), b, a, v)
		return v
	}
	even0, even1 := even(parts[0], parts[1]), even(parts[2], parts[3])
	odd0, odd1 := odd(parts[0], parts[1]), odd(parts[2], parts[3])
	return []reg.VecVirtual{even(even0, even1), even(odd0, odd1), odd(even0, even1), odd(odd0, odd1)}
}
