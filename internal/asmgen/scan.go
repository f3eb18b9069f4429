package main

import (
	"fmt"

	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// scanBlock is kernels.ScanBlock: the rows that are added one after another.
const scanBlock = 4080

// scan makes the loops of running sums. Floats are added one after another within
// a block, so as many blocks as a register has lanes of float64 go side by side:
// squares of values are turned so that a register has one value of each block.
// Integers are in rows: what their order is makes no difference. Loops that write
// also read what is written next, so that memory is never waited for alone.
func scan(g *gen) {
	for _, f := range reals {
		scanTotals(g, f)
		scanAlong(g, f, false)
		scanAlong(g, f, true)
	}
	for _, e := range elements {
		if e.kind == unsigned && e.size >= 4 { // of the signed ones sums have the same bits
			wrappedTotal(g, e)
			wrappedAlong(g, e, false)
			wrappedAlong(g, e, true)
		}
	}
}

func scanTotals(g *gen, f real) {
	lanes := g.bytes / 8
	g.function("totals"+f.name, fmt.Sprintf("(totals []float64, v []%s)", f.of), fmt.Sprintf(`is
	for k := range totals {
		totals[k] = 0
		for _, x := range v[k*%[1]d:][:%[1]d] {
			totals[k] += float64(x)
		}
	}
len(totals) is a multiple of %[2]d.`, scanBlock, lanes))
	totals, n, v := g.base("totals"), g.length("totals"), g.base("v")
	g.SHRQ(operand.U8(shiftOf(lanes)), n)
	g.count(n, func() {
		sum := g.zero()
		g.eachLine(f, func() {
			g.addSquares(f, v, sum)
			g.advance(g.bytes, v)
		})
		g.VMOVUPD(sum, at(totals, 0))
		g.advance(g.bytes, totals)
		g.advance((lanes-1)*scanBlock*f.bytes, v)
	})
	g.leave()
}

// eachLine runs body for every register of a block.
func (g *gen) eachLine(f real, body func()) {
	n := g.GP64()
	g.MOVQ(operand.U32(scanBlock/g.lanesOf(f)), n)
	g.count(n, body)
}

// eachSquare runs body for the values from v on of a block a lane, as many of each
// as there are lanes, made float64, and then for the second half of registers of
// float32.
func (g *gen) eachSquare(f real, v reg.Register, body func(half int, columns []reg.VecVirtual)) {
	lanes := g.bytes / 8
	for half := range g.lanesOf(f) / lanes {
		rows := make([]reg.VecVirtual, lanes)
		for r := range rows {
			rows[r] = g.lanesFor(f)
			g.move(f, at(v, r*scanBlock*f.bytes+half*g.bytes/2), rows[r])
		}
		columns := g.square(f, rows)
		for i, c := range columns {
			if f.bytes == 4 {
				columns[i] = g.vector()
				g.VCVTPS2PD(c, columns[i])
			}
		}
		body(half, columns)
	}
}

// addSquares adds those values to a sum a lane.
func (g *gen) addSquares(f real, v reg.Register, sum reg.VecVirtual) {
	g.eachSquare(f, v, func(_ int, columns []reg.VecVirtual) {
		for _, c := range columns {
			g.VADDPD(c, sum, sum)
		}
	})
}

// lanesFor is a new register of as many values as a vector has lanes of float64.
func (g *gen) lanesFor(f real) reg.VecVirtual {
	switch {
	case f.bytes == 8:
		return g.vector()
	case g.wide():
		return g.YMM()
	default:
		return g.XMM()
	}
}

func scanAlong(g *gen, f real, past bool) {
	lanes := g.bytes / 8
	name, rule := "along", ""
	if past {
		name, rule = "alongPast", pastRule
	}
	g.function(name+f.name, fmt.Sprintf("(dst, v []%[1]s, before, totals []float64, next []%[1]s)", f.of), fmt.Sprintf(`is
	for k := range before {
		sum := 0.0
		for i := k * %[1]d; i < (k+1)*%[1]d; i++ {
			sum += float64(v[i])
			dst[i] = %[4]s(before[k] + sum)
		}
	}
	totals%[5]s(totals, next)
len(before), which is that of totals, is a multiple of %[2]d%[3]s.`, scanBlock, lanes, rule, f.of, f.name+g.suffix))
	dst, v, before, n := g.base("dst"), g.base("v"), g.base("before"), g.length("before")
	totals, next := g.base("totals"), g.base("next")
	g.SHRQ(operand.U8(shiftOf(lanes)), n)
	g.count(n, func() {
		sum, total := g.zero(), g.zero()
		g.eachLine(f, func() {
			g.alongSquares(f, dst, v, before, sum, past)
			g.addSquares(f, next, total)
			g.advance(g.bytes, dst, v, next)
		})
		g.VMOVUPD(total, at(totals, 0))
		g.advance(g.bytes, before, totals)
		g.advance((lanes-1)*scanBlock*f.bytes, dst, v, next)
	})
	if past {
		g.SFENCE()
	}
	g.leave()
}

// alongSquares writes the sums so far, of which sum has those of the blocks.
func (g *gen) alongSquares(f real, dst, v, before reg.Register, sum reg.VecVirtual, past bool) {
	lanes := g.bytes / 8
	firsts := make([]reg.VecVirtual, lanes)
	g.eachSquare(f, v, func(half int, columns []reg.VecVirtual) {
		for i, c := range columns {
			g.VADDPD(c, sum, sum)
			g.VADDPD(at(before, 0), sum, c)
			if f.bytes == 4 {
				columns[i] = g.narrowed(c)
			}
		}
		for r, row := range g.square(f, columns) {
			switch {
			case f.bytes == 4 && half == 0:
				firsts[r] = row
				continue
			case f.bytes == 4:
				row = g.pasted(firsts[r], row)
			}
			if past {
				g.VMOVNTPD(row, at(dst, r*scanBlock*f.bytes))
			} else {
				g.VMOVUPD(row, at(dst, r*scanBlock*f.bytes))
			}
		}
	})
}

// pastRule is what loops that store past the caches say of it.
const pastRule = ", dst aligned to a register; its lines are stored past the caches"

// narrowed is a new register of half the width with float64 values as float32.
func (g *gen) narrowed(v reg.VecVirtual) reg.VecVirtual {
	if g.wide() {
		half := g.YMM()
		g.VCVTPD2PS(v, half)
		return half
	}
	half := g.XMM()
	g.VCVTPD2PSY(v, half)
	return half
}

// pasted is a new register of two of half the width.
func (g *gen) pasted(low, high reg.VecVirtual) reg.VecVirtual {
	v := g.vector()
	if g.wide() {
		g.VINSERTF64X4(operand.U8(1), high, low.AsZ(), v)
	} else {
		g.VINSERTF128(operand.U8(1), high, low.AsY(), v)
	}
	return v
}
